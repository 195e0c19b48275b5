"""Where synced files come from when they are not on this machine: lists of URLs and git repositories.

No Django here. Whatever is named by a user is reached through `addresses`, so that nobody reads the network that
this server stands in.
"""
