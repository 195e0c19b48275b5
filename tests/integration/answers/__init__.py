"""Questions answered, with a scripted chat model over real HTTP."""
