"""The same chunks through each provider."""
