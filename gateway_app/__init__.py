"""The gateway: the storage API's calls on the provider that a connection names (A9.7)."""
