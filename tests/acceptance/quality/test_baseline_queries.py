"""Spec C's four baseline queries, on a small guide to a game server's modules, with the real model."""

from __future__ import annotations

import pytest

from collections_app.services import create_collection
from core_app import wiring
from core_app.config import Embedding
from inference_app.sentence_transformer import SentenceTransformerEmbedder
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.modes import MODE_NAMES, ModeName
from search_app.services import search

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

GUIDE = {
    "api/modules.md": """# Module API

## Creating a module

`moduleControllerCreate` registers a new module. It takes a name and a description and returns the module's id.

## Removing a module

`moduleControllerRemove` deletes a module with its commands and hooks.
""",
    "api/players.md": """# Player API

`playerControllerSearch` lists players by name. `playerControllerGetOne` returns one of them with their roles.
""",
    "guides/hooks.md": """# Hooks

A hook runs a function when something happens in the game.

| event | when |
|---|---|
| `hook.player.connected` | A player has joined the server. |
| `hook.player.disconnected` | A player has left. |
| `hook.chat.message` | Somebody wrote in the chat. |
""",
    "guides/cronjobs.md": """# Scheduled tasks

A cronjob runs a function again and again, at times that you choose. Write the schedule as five fields: minute,
hour, day, month, weekday. `0 4 * * *` is every day at four.
""",
    "guides/commands.md": """# Commands

A command is what a player types in the chat, such as `/home`. Its arguments have names, types and defaults.
""",
    "guides/moderation.md": """# Keeping order

## Excluding somebody

To ban a player open their profile, choose *Ban*, and write the reason: they read it when they try to come back.
A ban ends at the time that you give, or never.

## Warnings

A warning is shown to the player once and kept in their history.
""",
    "guides/economy.md": """# Economy

Players earn coins by playing and spend them in the shop. A transfer between two players is written to the log.
""",
    "guides/permissions.md": """# Roles and permissions

A role is a set of permissions. Give roles to players, and modules can ask what a player may do.
""",
}


@pytest.fixture(autouse=True)
def _guide(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SentenceTransformerEmbedder(Embedding())
    monkeypatch.setattr(wiring, "_embedder", lambda: real)
    create_collection(name="takaro")
    sources = [Source(name=name, content=text.encode()) for name, text in GUIDE.items()]
    run_job(job_id=submit(collection_name="takaro", sources=sources).pk, stopping=lambda: False)


@pytest.mark.parametrize("mode", MODE_NAMES)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("moduleControllerCreate", "api/modules.md"),
        ("hook.player.connected", "guides/hooks.md"),
        ("how do cronjobs work", "guides/cronjobs.md"),
        ("ban player with reason", "guides/moderation.md"),
    ],
)
def test_c_sc1_the_baseline_queries_find_their_documents_first(query: str, expected: str, mode: ModeName) -> None:
    """C-REQ-001, C-REQ-002"""
    found = search(collection_name="takaro", query=query, mode=mode)
    assert found.hits[0].metadata["source"] == expected


@pytest.mark.parametrize("mode", MODE_NAMES)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("may a player with a role type a command that calls moduleControllerCreate", "api/modules.md"),
        ("which players does playerControllerGetOne return when they spend coins in the shop", "api/players.md"),
        (
            "which function of a role or a schedule runs on hook.player.connected when the game begins",
            "guides/hooks.md",
        ),
    ],
)
def test_c_req_002_the_other_words_of_a_question_do_not_drown_a_name(query: str, expected: str, mode: ModeName) -> None:
    found = search(collection_name="takaro", query=query, mode=mode, patient=True)
    assert found.hits[0].metadata["source"] == expected


def test_c_sc2_a_question_across_topics_finds_both() -> None:
    found = search(collection_name="takaro", query="how do hooks work with commands")
    assert {"guides/hooks.md", "guides/commands.md"} <= {hit.metadata["source"] for hit in found.hits[:3]}
