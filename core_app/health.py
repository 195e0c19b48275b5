"""How the parts of the server do: what is checked, said in one shape, and the checks of what stands behind ports."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from core_app.errors import RagsiteError
from core_app.wiring import app_settings, chat_model, data_folder, embedder, pair_scorer

#: Less free space than this is worth a warning, and than that an alarm: a database that is full refuses writes.
LITTLE_SPACE, NO_SPACE = 5 * 1024**3, 512 * 1024**2


class State(StrEnum):
    """How one part does."""

    GOOD = "good"
    #: It works, but worse than it could.
    DEGRADED = "degraded"
    BAD = "bad"
    #: Nobody configured it.
    OFF = "off"
    #: It was not asked, or gave no answer from which to tell.
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One part of the server and how it does."""

    part: str
    state: State
    #: What was found, in a sentence.
    says: str
    #: What to do, in a sentence; empty where there is nothing to do.
    cure: str = ""
    #: A command that does it, or shows more.
    command: str = ""
    #: The page and section of the documentation.
    docs: str = ""


def check_embedder() -> Check:
    """What turns texts and queries into vectors. Loads nothing."""
    engine = embedder().query_engine
    part, docs = "embedder", "operations.md#what-embeds-queries"
    if engine.is_loading:
        return Check(
            part=part,
            state=State.DEGRADED,
            says="The model is being loaded: searches may be by words alone for some seconds.",
            cure="Wait a minute. If it stays so, the log of the web server has the cause.",
            docs=docs,
        )
    if engine.is_fallback:
        return Check(
            part=part,
            state=State.DEGRADED,
            says=f"Queries are embedded by {engine.name}: {engine.reason}. The same is found, but later.",
            cure="Mend the cause and start the server again.",
            docs=docs,
        )
    return Check(part=part, state=State.GOOD, says=f"Queries are embedded by {engine.name}.", docs=docs)


def check_cross_encoder() -> Check:
    """The model that reads each passage beside the query; it is loaded when the server starts."""
    part, docs = "cross_encoder", "reranking.md"
    try:
        scorer = pair_scorer()
    except RagsiteError as error:
        cure = "Set Rerank:CrossEncoder or Rerank:CrossEncoderPath to a model that can be loaded, and start again."
        return Check(part=part, state=State.BAD, says=error.detail, cure=cure, docs=docs)
    if scorer is None:
        says = "None is loaded: searches are in the order of the fusion."
        cure = "Set Rerank:CrossEncoder to load one."
        return Check(part=part, state=State.OFF, says=says, cure=cure, docs=docs)
    return Check(part=part, state=State.GOOD, says=f"Searches are reranked by {scorer.model}.", docs=docs)


def check_chat_model() -> Check:
    """The large language model. It is not called: a call may cost money."""
    part, docs = "chat_model", "llm.md"
    try:
        model = chat_model()
    except RagsiteError as error:
        cure = "Mend the settings under Llm, and start the server again."
        return Check(part=part, state=State.BAD, says=error.detail, cure=cure, docs=docs)
    if model is None:
        says = "None is configured: nothing is reranked by a language model."
        return Check(part=part, state=State.OFF, says=says, cure="Set Llm:Provider to use one.", docs=docs)
    says = f"{model.model} by {model.connection} is configured. It is not called here, since calls may cost money."
    return Check(part=part, state=State.UNKNOWN, says=says, docs=docs)


def check_disk() -> Check:
    """The space of the disk under the data folder, where an embedded database stands, too."""
    part, docs = "disk", "operations.md#the-data-folder"
    try:
        free = shutil.disk_usage(data_folder()).free
    except OSError:
        return Check(part=part, state=State.UNKNOWN, says="The disk of the data folder could not be read.", docs=docs)
    says = f"{free / 1024**3:,.1f} GB are free where the data folder is."
    if free >= LITTLE_SPACE:
        return Check(part=part, state=State.GOOD, says=says, docs=docs)
    return Check(
        part=part,
        state=State.BAD if free < NO_SPACE else State.DEGRADED,
        says=says,
        cure="Make space: a database without any refuses all writes.",
        command="df -h",
        docs=docs,
    )


def check_query_log() -> Check:
    """Whether searches are kept."""
    part, docs = "query_log", "operations.md#the-query-log"
    kept = app_settings().search.query_log
    if kept == "off":
        says = "Search:QueryLog is off: no search is kept, and none can be counted."
        return Check(part=part, state=State.OFF, says=says, cure="Set it to hashed, masked or plain.", docs=docs)
    return Check(part=part, state=State.GOOD, says=f"Searches are kept, their texts {kept}.", docs=docs)


MODEL_CHECKS: tuple[Callable[[], Check], ...] = (
    check_embedder,
    check_cross_encoder,
    check_chat_model,
    check_query_log,
    check_disk,
)
