"""What Ragsite measures about itself; see each folder for how to run it again."""
