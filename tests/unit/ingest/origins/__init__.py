"""What is read for sources, against servers on this machine."""
