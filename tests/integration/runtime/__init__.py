"""The launcher with real processes in temporary folders."""
