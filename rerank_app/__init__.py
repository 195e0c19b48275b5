"""How lists are re-ordered: every passage is read beside the query."""
