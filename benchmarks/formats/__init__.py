"""What is read out of real files of every format, and out of hostile ones."""
