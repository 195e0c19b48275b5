"""How the parts of the server do: what is checked, said in one shape, and the checks of what stands behind ports."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from django.utils.formats import number_format
from django.utils.translation import gettext as _

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
            says=_("The model is being loaded: searches may be by words alone for some seconds."),
            cure=_("Wait a minute. If it stays so, the log of the web server has the cause."),
            docs=docs,
        )
    if engine.is_fallback:
        return Check(
            part=part,
            state=State.DEGRADED,
            says=_("Queries are embedded by %(name)s: %(reason)s. The same is found, but later.")
            % {"name": engine.name, "reason": engine.reason},
            cure=_("Mend the cause and start the server again."),
            docs=docs,
        )
    says = _("Queries are embedded by %(name)s.") % {"name": engine.name}
    return Check(part=part, state=State.GOOD, says=says, docs=docs)


def check_cross_encoder() -> Check:
    """The model that reads each passage beside the query; it is loaded when the server starts."""
    part, docs = "cross_encoder", "reranking.md"
    try:
        scorer = pair_scorer()
    except RagsiteError as error:
        cure = _("Set Rerank:CrossEncoder or Rerank:CrossEncoderPath to a model that can be loaded, and start again.")
        return Check(part=part, state=State.BAD, says=error.detail, cure=cure, docs=docs)
    if scorer is None:
        says = _("None is loaded: searches are in the order of the fusion.")
        cure = _("Set Rerank:CrossEncoder to load one.")
        return Check(part=part, state=State.OFF, says=says, cure=cure, docs=docs)
    says = _("Searches are reranked by %(model)s.") % {"model": scorer.model}
    return Check(part=part, state=State.GOOD, says=says, docs=docs)


def check_chat_model() -> Check:
    """The large language model. It is not called: a call may cost money."""
    part, docs = "chat_model", "llm.md"
    try:
        model = chat_model()
    except RagsiteError as error:
        cure = _("Mend the settings under Llm, and start the server again.")
        return Check(part=part, state=State.BAD, says=error.detail, cure=cure, docs=docs)
    if model is None:
        says = _("None is configured: nothing is reranked by a language model.")
        return Check(part=part, state=State.OFF, says=says, cure=_("Set Llm:Provider to use one."), docs=docs)
    says = _("%(model)s by %(connection)s is configured. It is not called here, since calls may cost money.") % {
        "model": model.model,
        "connection": model.connection,
    }
    return Check(part=part, state=State.UNKNOWN, says=says, docs=docs)


def check_disk() -> Check:
    """The space of the disk under the data folder, where an embedded database stands, too."""
    part, docs = "disk", "operations.md#the-data-folder"
    try:
        free = shutil.disk_usage(data_folder()).free
    except OSError:
        return Check(
            part=part, state=State.UNKNOWN, says=_("The disk of the data folder could not be read."), docs=docs
        )
    says = _("%(free)s GB are free where the data folder is.") % {
        "free": number_format(round(free / 1024**3, 1), decimal_pos=1, force_grouping=True)
    }
    if free >= LITTLE_SPACE:
        return Check(part=part, state=State.GOOD, says=says, docs=docs)
    return Check(
        part=part,
        state=State.BAD if free < NO_SPACE else State.DEGRADED,
        says=says,
        cure=_("Make space: a database without any refuses all writes."),
        command="df -h",
        docs=docs,
    )


def check_query_log() -> Check:
    """Whether searches are kept."""
    part, docs = "query_log", "operations.md#the-query-log"
    kept = app_settings().search.query_log
    if kept == "off":
        says = _("Search:QueryLog is off: no search is kept, and none can be counted.")
        return Check(part=part, state=State.OFF, says=says, cure=_("Set it to hashed, masked or plain."), docs=docs)
    says = _("Searches are kept, their texts %(kept)s.") % {"kept": kept}
    return Check(part=part, state=State.GOOD, says=says, docs=docs)


MODEL_CHECKS: tuple[Callable[[], Check], ...] = (
    check_embedder,
    check_cross_encoder,
    check_chat_model,
    check_query_log,
    check_disk,
)
