"""The models behind ports: what turns text into vectors."""
