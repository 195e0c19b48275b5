"""The scenarios of the storage API, by their numbers, over real HTTP."""
