"""What the server holds: collections, documents and their chunks."""
