"""The console through Django's test client."""
