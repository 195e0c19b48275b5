"""Integration tests of the room."""
