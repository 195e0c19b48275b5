"""Who may call what, over HTTP."""
