"""A list of error codes, with the real model: what a question says besides its code is said of another one, too."""

from __future__ import annotations

import pytest

from collections_app.services import create_collection
from core_app import wiring
from core_app.config import Embedding
from inference_app.sentence_transformer import SentenceTransformerEmbedder
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.services import search

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

CODES = {
    "E4711": "the water tank is not seated. Take it out and press it in until it clicks.",
    "E4712": "the brew group is stuck. Switch off, wait a minute, switch on.",
    "E4713": "the pump runs dry. Fill the tank and press start.",
    "E4714": "the filter is blocked. Clean the filter under warm water.",
    "E4715": "the grinder has no beans. Fill in beans and press start.",
    "E4716": "the drip tray is full. Empty the tray and put it back.",
    "E4717": "the heater is too hot. Wait until the machine has cooled down.",
    "E4718": "the door is open. Close the door until it clicks.",
    "E4719": "the milk hose came off. Plug the hose in.",
    "E4720": "unknown fault. Call the service.",
}
QUESTIONS = (
    "The display shows {} and the machine stops, what should I do?",
    "How do I clean the filter after {}?",
    "My coffee machine is broken, {} is shown, must I fill the tank and press start?",
    "{} water tank not seated?",
    "does {} mean that the pump runs dry or that the filter is blocked",
    "I pressed the tank in until it clicks but {} does not go away",
    "{}",
)


def test_c_req_002_the_code_that_was_named_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SentenceTransformerEmbedder(Embedding())
    monkeypatch.setattr(wiring, "_embedder", lambda: real)
    create_collection(name="codes")
    sources = [Source(name=code, content=f"{code}: {text}".encode(), is_text=True) for code, text in CODES.items()]
    run_job(job_id=submit(collection_name="codes", sources=sources).pk, stopping=lambda: False)
    wrong = []
    for code in CODES:
        for question in QUESTIONS:
            query = question.format(code)
            first = search(collection_name="codes", query=query, patient=True).hits[0]
            if first.metadata["source"] != code:
                wrong.append((query, first.metadata["source"]))
    assert wrong == []
