"""Fine-tunes a cross-encoder on judged queries, and says what it brought on queries that it never saw."""
