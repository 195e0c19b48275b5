"""The suite, sorted by what a test costs."""
