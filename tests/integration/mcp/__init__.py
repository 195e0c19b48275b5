"""The door for agents, asked by the protocol's own client."""
