"""The edge of the server: paths, errors, documentation."""
