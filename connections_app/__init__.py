"""Connections: configured, named uses of providers, with their secrets."""
