"""Parsing in the child process and of whole files."""
