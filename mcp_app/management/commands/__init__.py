"""Commands of the door for agents."""
