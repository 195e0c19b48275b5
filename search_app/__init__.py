"""How text gets out: retrieval over one or both legs, merged into one list."""
