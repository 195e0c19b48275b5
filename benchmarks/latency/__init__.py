"""How long the parts of a search take, beside what else could do the same."""
