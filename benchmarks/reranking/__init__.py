"""How long cross-encoders take to score passages."""
