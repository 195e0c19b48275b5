"""Commands of the server as a whole."""
