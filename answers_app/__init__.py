"""How what was found is said: questions answered from passages, with sources that can be checked."""
