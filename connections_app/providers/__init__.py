"""The providers that Ragsite comes with; found by dotted path and imported by nobody."""
