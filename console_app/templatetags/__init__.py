"""What the templates need beyond Django: labels, metadata as rows."""
