"""What answers cost beside their model."""
