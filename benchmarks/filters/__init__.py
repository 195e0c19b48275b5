"""The filter builder over a million chunks: what a preview, the fields and the suggestions take."""
