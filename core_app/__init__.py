"""The shared vocabulary: configuration, errors, ports, and how SQL files are read."""
