"""The settings model: what may be configured, with types, defaults, bounds and one line of help each.

`appsettings.json`, then `appsettings.{Environment}.json`, then environment variables with `__`
between levels; the later wins (FR-007). The reference page in the docs is generated from here.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_pascal

from core_app.names import RULE, is_collection_name

ENVIRONMENT_VARIABLE = "RAGSITE_ENVIRONMENT"
DATA_VARIABLE = "RAGSITE_DATA"
BIND_VARIABLE = "RAGSITE_BIND"

LONGEST_RETENTION_DAYS = 36_500

HYBRID_WORDS = frozenset({"true", "1", "yes"})


def _network(value: object) -> IPv4Network | IPv6Network:
    wanted = "must be a network such as 10.0.0.0/8 or fd00::/8"
    if not isinstance(value, str):  # a number would be one, too
        raise ValueError(wanted)
    try:
        return ip_network(value)
    except ValueError:
        raise ValueError(wanted) from None


Network = Annotated[IPv4Network | IPv6Network, PlainValidator(_network), PlainSerializer(str)]


def split_commas(value: object) -> object:
    """A list as the environment gives it."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


class Section(BaseModel):
    """Frozen, strict about unknown keys, written in PascalCase in the files."""

    model_config = ConfigDict(
        alias_generator=to_pascal,
        extra="forbid",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )


class ConnectionStrings(Section):
    """Where the database and the broker are. `script/server` starts both by itself when these are empty."""

    rag_database: SecretStr | None = Field(
        None, description="Postgres 16 or newer with pgvector 0.8, as `postgresql://user:password@host/db`."
    )
    broker: SecretStr | None = Field(None, description="Redis or Valkey for Celery, as `redis://host:6379/0`.")


class VectorDatabase(Section):
    """How collections are stored."""

    provider: Literal["pgvector"] = Field("pgvector", description="The store that new collections use.")
    default_collection: str = Field("content_chunks", description="Created at first use when it does not exist (B8.2).")
    pool_size: Annotated[int, Field(ge=0, le=200)] = Field(
        12, description="Most database connections of one process; 0 opens one a request."
    )
    lock_timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        10.0, description="How long a write waits for another write to the same collection before 503."
    )
    statement_timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        30.0, description="How long one statement of a search may run."
    )
    word_cache_bytes: Annotated[int, Field(ge=0)] = Field(
        128 * 1024 * 1024,
        description="Most memory of one process for what it read of the word index; 0 reads it from the database each "
        "time.",
    )
    index_bytes: Annotated[int, Field(ge=0)] = Field(
        15_000_000,
        description="Vectors of a collection that together take so much get an index; fewer are compared one by one.",
    )
    ef_search: Annotated[int, Field(ge=10, le=1000)] = Field(
        300, description="How thoroughly the vector index is searched: more finds more of the nearest, later."
    )
    index_build_memory_bytes: Annotated[int, Field(ge=64 * 1024 * 1024)] = Field(
        512 * 1024 * 1024,
        description="Most memory the database takes for building one vector index, unless it is configured to take "
        "more. An index that does not fit is built more slowly.",
    )

    @field_validator("default_collection")
    @classmethod
    def _names_a_collection(cls, value: str) -> str:
        if not is_collection_name(value):
            raise ValueError(RULE)
        return value


class Embedding(Section):
    """The model that turns text into vectors on the server."""

    provider: Literal["sentence-transformers", "hashing"] = Field(
        "sentence-transformers",
        description="`hashing` needs no model and knows no meaning: for tests and smoke checks.",
    )
    connection: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        "local", description="A name for this source of embeddings; caches key on it and the model."
    )
    model: Annotated[str, Field(min_length=1)] = Field(
        "all-MiniLM-L6-v2",
        description="A folder, the model of an installed package, or a hub name, tried in this order.",
    )
    batch_size: Annotated[int, Field(ge=1, le=1024)] = Field(
        32, description="Chunks embedded at a time; a cancelled job stops after one batch."
    )
    threads: Annotated[int, Field(ge=0, le=256)] = Field(
        0, description="Most threads of one process that the model runs on; 0 means one for each core."
    )
    query_engine: Literal["auto", "torch"] = Field(
        "auto",
        description="What embeds queries: `auto` is onnxruntime where it gives torch's vectors, else torch; documents "
        "are embedded by torch.",
    )
    query_cache_size: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        4096, description="Query embeddings kept in memory by one process."
    )


class Search(Section):
    """Defaults of retrieval."""

    use_hybrid_search: bool = Field(
        False, description="Words and meaning, or meaning alone. `USE_HYBRID_SEARCH` wins over it (B2)."
    )
    candidates: Annotated[int, Field(ge=10, le=2000)] = Field(
        100,
        description="How deep each leg looks at least, before the lists are merged; modes may look deeper, and none "
        "looks less than twice top_k.",
    )
    cut_at_budget: bool = Field(
        True,
        description="Leave out what a search has no time for in its mode, where there are results without it, and say "
        "so. Off: it takes as long as it takes.",
    )
    query_log: Literal["off", "hashed", "masked", "plain"] = Field(
        "hashed",
        description="What the query log keeps of a query's text: a hash, its words without addresses, numbers, keys "
        "and quotations, or all of it. `off` logs no queries.",
    )
    k1: Annotated[float, Field(ge=0, le=10)] = Field(1.2, description="BM25: how soon repetition stops to count.")
    b: Annotated[float, Field(ge=0, le=1)] = Field(0.75, description="BM25: how much long texts are held back.")


class Rerank(Section):
    """What re-orders the best passages by reading each beside the query."""

    cross_encoder: str = Field(
        "",
        description="A cross-encoder by its hub name; empty loads none. `CROSS_ENCODER_MODEL` wins over it, and the "
        "flags of `manage.py serve` over both.",
    )
    cross_encoder_path: str = Field(
        "", description="A folder with a cross-encoder, which wins over `CrossEncoder`; nothing is downloaded."
    )
    batch_size: Annotated[int, Field(ge=1, le=256)] = Field(
        8, description="Passages that are scored together, at most: a turn takes about a tenth of a second."
    )
    threads: Annotated[int, Field(ge=0, le=256)] = Field(
        0, description="Batches that are scored at a time, each on one thread; 0 means one for each core."
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        60.0, description="How long one request to `/rerank` may take before 503."
    )
    weight: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="How much the reranker counts against the order of before: 1 is the reranker alone."
    )


class Llm(Section):
    """A chat model: any service that speaks OpenAI's language, Anthropic, or Ollama."""

    connection: Annotated[str, Field(max_length=100)] = Field(
        "", description="A connection that leads to a chat model; it is used in place of what stands here."
    )
    provider: Literal["none", "openai", "anthropic", "ollama"] = Field(
        "none", description="`openai` is whatever speaks its language: OpenRouter, vLLM, LM Studio, LiteLLM."
    )
    base_url: str = Field("", description="Where the service is; empty means the provider's own address.")
    api_key: SecretStr | None = Field(None, description="What the service asks for; Ollama asks for nothing.")
    model: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        "llama-3.1-8b-instruct", description="The model, as the service names it."
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        60.0, description="How long one call may take where nothing else bounds it."
    )
    concurrency: Annotated[int, Field(ge=1, le=256)] = Field(8, description="Most calls of one process at a time.")
    input_price: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Of a million tokens of input, in whatever currency; the log has the cost of each use."
    )
    output_price: Annotated[float, Field(ge=0)] | None = Field(None, description="Of a million tokens of output.")

    @model_validator(mode="after")
    def _can_be_called(self) -> Self:
        if self.base_url and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("BaseUrl must begin with http:// or https://")
        asks = self.provider == "anthropic" or (self.provider == "openai" and not self.base_url)
        if asks and (self.api_key is None or not self.api_key.get_secret_value().strip()):
            raise ValueError(f"{self.provider} needs an ApiKey; set Llm__ApiKey in the environment")
        return self


class Answers(Section):
    """Questions that a chat model answers from passages (E 3.1)."""

    understanding_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        2.0, description="How long the model may take to say what a question asks for; then it is searched as it is."
    )
    rewriting_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        2.0, description="How long it may take to write further queries; then the question alone is searched."
    )
    ranking_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        3.0, description="How long it may take to put passages in order; then they stay in the order of the search."
    )
    generation_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        30.0, description="How long it may take to write the answer; then there is none."
    )
    total_seconds: Annotated[float, Field(gt=0, le=600)] = Field(40.0, description="How long all of it may take.")
    research_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        60.0, description="When research begins no further searches."
    )
    concurrency: Annotated[int, Field(ge=1, le=256)] = Field(
        8, description="Questions that one process answers at a time; more are answered 503 for a while."
    )


class Ingestion(Section):
    """How files become chunks."""

    chunk_tokens: Annotated[int, Field(ge=16, le=8192)] = Field(
        200, description="Most tokens of one chunk, without its title and section."
    )
    chunk_overlap_tokens: Annotated[int, Field(ge=0, le=4096)] = Field(
        30,
        # The default too must fit a smaller ChunkTokens: the chunker refuses an overlap as long as a chunk.
        validate_default=True,
        description="Tokens that a chunk repeats of the one before it in the same section.",
    )
    max_file_bytes: Annotated[int, Field(ge=1)] = Field(50 * 1024 * 1024, description="Largest single file or text.")
    max_request_bytes: Annotated[int, Field(ge=1)] = Field(
        500 * 1024 * 1024, description="Largest upload request as a whole."
    )
    max_files: Annotated[int, Field(ge=1, le=100_000)] = Field(1000, description="Most files in one request.")
    max_waiting_files: Annotated[int, Field(ge=1)] = Field(
        100_000, description="With so many files waiting to be indexed, further uploads are answered 503 for a while."
    )
    max_waiting_bytes: Annotated[int, Field(ge=1)] = Field(
        10 * 1024**3, description="The same by their bytes, which wait in the database."
    )
    parse_timeout_seconds: Annotated[float, Field(gt=0)] = Field(
        120.0, description="How long one file may take to be read."
    )
    parse_memory_bytes: Annotated[int, Field(ge=256 * 1024 * 1024)] = Field(
        2 * 1024 * 1024 * 1024, description="How much memory reading one file may take."
    )
    lease_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        30.0, description="A job whose worker was silent for so long is taken over by another."
    )
    sync_folders: tuple[str, ...] = Field(
        (),
        description="Folders of the server that connectors may read, with all below them; in the environment separated "
        "by commas.",
    )
    max_attempts: Annotated[int, Field(ge=1, le=100)] = Field(
        3, description="How often one file is tried before it is set aside as failed."
    )
    allowed_private_networks: tuple[Network, ...] = Field(
        (),
        description="Private networks that URL lists and git repositories may be read from, such as 10.0.0.0/8; in "
        "the environment separated by commas.",
    )
    fetch_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        60.0, description="How long reading one URL may take, with all its redirects."
    )
    clone_timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] = Field(
        600.0, description="How long cloning one git repository may take."
    )
    max_clone_bytes: Annotated[int, Field(ge=1)] = Field(
        2 * 1024**3, description="Most disk that the clone of one git repository may take."
    )

    @field_validator("sync_folders", "allowed_private_networks", mode="before")
    @classmethod
    def _split_commas(cls, value: object) -> object:
        return split_commas(value)

    @field_validator("chunk_overlap_tokens")
    @classmethod
    def _overlap_leaves_room(cls, value: int, info: object) -> int:
        size = getattr(info, "data", {}).get("chunk_tokens")
        if size is not None and value * 2 > size:
            raise ValueError("must be at most half of ChunkTokens")
        return value


class Security(Section):
    """Who may reach the server."""

    secret_key: SecretStr | None = Field(
        None, description="Signs sessions. Production needs one of at least 32 characters."
    )
    connection_keys: tuple[SecretStr, ...] = Field(
        (),
        description="Encrypt the secrets of connections: the first does, all decrypt, so a new one goes in front. "
        "Without any SecretKey does. In the environment separated by commas.",
    )
    connection_folders: tuple[str, ...] = Field(
        (),
        description="Folders in which connections may have files, beside one of their own in the data folder; in the "
        "environment separated by commas.",
    )
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Host names this server answers to; in the environment separated by commas."
    )
    require_keys: Literal["auto", "always"] = Field(
        "auto", description="`auto` asks for no API key from this machine in Development; `always` always asks."
    )
    secure_cookies: bool = Field(False, description="Send the console's cookies over HTTPS only; set it behind TLS.")

    @field_validator("connection_keys")
    @classmethod
    def _keys_are_long(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(key.get_secret_value()) < 32 for key in value):
            raise ValueError("must have at least 32 random characters each, e.g. of `openssl rand -base64 48`")
        return value

    @field_validator("allowed_hosts", "connection_keys", "connection_folders", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        return split_commas(value)


class Telemetry(Section):
    """What the server says about itself."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least severe line logged.")
    log_format: Literal["console", "json"] = Field("console", description="For people or for log collectors.")


class Retention(Section):
    """How long the server remembers what happened."""

    query_log_days: Annotated[int, Field(ge=0, le=LONGEST_RETENTION_DAYS)] = Field(
        30, description="Days after which the query log forgets a query; 0 keeps all for ever."
    )


class AppSettings(Section):
    """Everything that can be configured."""

    connection_strings: ConnectionStrings = ConnectionStrings()
    vector_database: VectorDatabase = VectorDatabase()
    embedding: Embedding = Embedding()
    search: Search = Search()
    rerank: Rerank = Rerank()
    llm: Llm = Llm()
    answers: Answers = Answers()
    ingestion: Ingestion = Ingestion()
    security: Security = Security()
    telemetry: Telemetry = Telemetry()
    retention: Retention = Retention()
