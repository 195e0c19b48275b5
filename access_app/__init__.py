"""Who may reach what: staff users and API keys."""
