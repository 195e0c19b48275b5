"""A chat model that plays the steps of an answer, and a collection to ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from collections_app.services import create_collection
from core_app import wiring
from core_app.config import Llm
from tests.integration.inference.scripted_chat import Asked, Handler, Server, Step, running_server, says
from tests.integration.ingest.filling import ingest

#: By step: what the model answers, or what makes it of the request.
Part = Mapping[str, Any] | Callable[[Asked], Mapping[str, Any]] | Step
UNDERSTOOD = {
    "reasoning": "It asks for a fact.",
    "interpreted_query": "steeping time of oolong tea",
    "intent": "to brew tea",
    "entities": ["oolong"],
    "query_type": "factual",
    "answer_format_hints": None,
}
REWRITTEN = {"reasoning": "Two ways to say it.", "queries": ["how long does oolong steep", "oolong minutes"]}


def passages(asked: Asked) -> list[dict[str, str]]:
    """Those that a step was shown."""
    begin = asked.user.index("[[ ## passages ## ]]\n") + len("[[ ## passages ## ]]\n")
    found: list[dict[str, str]] = json.JSONDecoder().raw_decode(asked.user[begin:])[0]
    return found


def ranked(asked: Asked) -> Mapping[str, Any]:
    """All that was shown, in the same order."""
    ranking = [{"id": one["id"], "confidence": 0.9, "reasoning": "It says so."} for one in passages(asked)]
    return {"reasoning": "r", "ranking": ranking, "merged_reasoning": "They go together.", "conflicts": []}


def generated(asked: Asked) -> Mapping[str, Any]:
    """One sentence, from the first passage, with its first words quoted."""
    first = passages(asked)[0]
    quote = " ".join(first["text"].split()[:4])
    sentence = {"text": "Five minutes.", "sources": [first["id"]], "quotes": [quote]}
    return {
        "reasoning": "r",
        "reasoning_steps": ["The passage says five minutes."],
        "is_answered": True,
        "sentences": [sentence],
        "confidence": 0.8,
    }


def plays(**parts: Part) -> Step:
    """The steps of an answer by the fields that are asked for; those that are not given go well."""
    script: dict[str, Part] = {
        "understand": UNDERSTOOD, "rewrite": REWRITTEN, "rank": ranked, "generate": generated, **parts,
    }  # fmt: skip

    def step(handler: Handler, asked: Asked) -> None:
        part: Any = script[step_of(asked)]
        if callable(part) and part.__name__ == "step":
            part(handler, asked)
        else:
            says(json.dumps(part if isinstance(part, Mapping) else part(asked)))(handler, asked)

    return step


def step_of(asked: Asked) -> str:
    """Which step a request is of."""
    outputs = asked.user.rpartition("Respond with a JSON object")[2]
    for field, name in (
        ("ranking", "rank"),
        ("sentences", "generate"),
        ("queries", "rewrite"),
        ("intent", "understand"),
    ):
        if f"`{field}`" in outputs:
            return name
    raise AssertionError(asked.user)


@pytest.fixture
def model(settings: Any) -> Iterator[Server]:
    """A chat model on loopback that does every step well, configured as the server's."""
    with running_server() as server:
        server.otherwise = plays()
        section = Llm.model_validate(
            {"provider": "openai", "base_url": f"{server.address}/v1", "model": "asked-1", "concurrency": 16}
        )
        settings.RAGSITE = settings.RAGSITE.model_copy(update={"llm": section})
        settings.LOADED = replace(settings.LOADED, values=settings.RAGSITE)
        wiring._chat_model.cache_clear()
        yield server
        chat: Any = wiring._chat_model()
        chat.close()
        wiring._chat_model.cache_clear()


@pytest.fixture
def limits(settings: Any) -> Callable[..., None]:
    """`limits(ranking_seconds=...)`: other settings of Answers."""

    def change(**values: Any) -> None:
        section = settings.RAGSITE.answers.model_copy(update=values)
        settings.RAGSITE = settings.RAGSITE.model_copy(update={"answers": section})
        settings.LOADED = replace(settings.LOADED, values=settings.RAGSITE)

    return change


@pytest.fixture
def tea(db: None) -> str:
    """Two documents that say different parts of what there is to know."""
    create_collection(name="tea")
    ingest(
        "tea", "Oolong steeps for five minutes at ninety degrees.", "Green tea steeps for two minutes.", "Rye bread."
    )
    return "tea"
