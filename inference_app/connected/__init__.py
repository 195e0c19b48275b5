"""Models that connections bring. Nobody imports the providers; they are found by their path."""
