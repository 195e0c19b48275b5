"""The door for people: the admin console."""
