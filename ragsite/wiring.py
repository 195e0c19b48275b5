"""Which class stands behind each port. Nobody imports those classes; they are found here by path."""

from __future__ import annotations

STORES = {
    "pgvector": "stores_app.pgvector.PgVectorStore",
    # Rows and words in the store above, nearest chunks by the provider of a connection.
    "connected": "stores_app.connected.ConnectedStore",
    # Held by the provider of a connection alone, and only read.
    "attached": "stores_app.attached.AttachedStore",
}

#: Brings collections to where the store above has them searched.
MOVER = "stores_app.moving.PlacementMover"

PAIR_SCORER = "inference_app.cross_encoder.CrossEncoderScorer"

EMBEDDERS = {
    "sentence-transformers": "inference_app.sentence_transformer.SentenceTransformerEmbedder",
    "hashing": "inference_app.hashing.HashingEmbedder",
}

#: Copies those of one collection to its copy.
TEST_CASES = "search_app.testcase_copying.copy_test_cases"

#: Queries with judgements, as sets for measuring retrieval have them: kept as test cases, and read back.
SAVE_JUDGED_QUERY = "search_app.testcase_exchange.save_judged_query"
JUDGED_QUERIES = "search_app.testcase_exchange.judged_queries"

CHAT_MODELS = {
    "openai": "inference_app.chat.openai_chat.OpenAiChat",
    "ollama": "inference_app.chat.openai_chat.OpenAiChat",
    "anthropic": "inference_app.chat.anthropic_chat.AnthropicChat",
}

#: The built-in store as a provider, with its name among them: it is always there, and no connection leads to it.
BUILT_IN_PROVIDER = ("pgvector", "gateway_app.here.PgVectorProvider")

#: What a connection can name, vector systems and models: the class, and the extra that brings its client (none: empty).
PROVIDERS = {
    "milvus": ("connections_app.providers.milvus.MilvusProvider", "milvus"),
    "remote": ("connections_app.providers.remote.RemoteProvider", ""),
    "chroma": ("connections_app.providers.chroma.ChromaProvider", "chroma"),
    "sqlite": ("connections_app.providers.sqlite.SqliteProvider", "sqlite"),
    "openai-embeddings": ("inference_app.connected.openai_embeddings.OpenAiEmbeddings", ""),
    "sentence-transformers": ("inference_app.connected.sentence_transformers.SentenceTransformers", ""),
    "openai-chat": ("inference_app.connected.chat.OpenAiChatProvider", ""),
    "anthropic-chat": ("inference_app.connected.chat.AnthropicChatProvider", ""),
}

#: The embedder and the chat model of a connection, by its name.
EMBEDDER_OF_CONNECTION = "inference_app.connected.using.embedder_of"
CHAT_MODEL_OF_CONNECTION = "inference_app.connected.using.chat_model_of"
