"""Which class stands behind each port. Nobody imports those classes; they are found here by path."""

from __future__ import annotations

STORES = {
    "pgvector": "stores_app.pgvector.PgVectorStore",
}

PAIR_SCORER = "inference_app.cross_encoder.CrossEncoderScorer"

EMBEDDERS = {
    "sentence-transformers": "inference_app.sentence_transformer.SentenceTransformerEmbedder",
    "hashing": "inference_app.hashing.HashingEmbedder",
}

#: Copies those of one collection to its copy.
TEST_CASES = "search_app.testcase_copying.copy_test_cases"

CHAT_MODELS = {
    "openai": "inference_app.chat.openai_chat.OpenAiChat",
    "ollama": "inference_app.chat.openai_chat.OpenAiChat",
    "anthropic": "inference_app.chat.anthropic_chat.AnthropicChat",
}

#: Vector systems that a connection can name: the class, and the extra that brings its client (none: empty).
PROVIDERS = {
    "milvus": ("connections_app.providers.milvus.MilvusProvider", "milvus"),
    "remote": ("connections_app.providers.remote.RemoteProvider", ""),
    "sqlite": ("connections_app.providers.sqlite.SqliteProvider", "sqlite"),
}
