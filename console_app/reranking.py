"""The bench of the cross-encoder: which is loaded, and what it makes of two texts beside a query."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from console_app.failures import EXPECTED, sentence
from console_app.forms import RerankForm
from core_app.errors import Unavailable
from rerank_app.services import Ranked, loaded_cross_encoder, rank


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One of the texts, with what the model says of it."""

    #: As the form has it.
    label: str
    text: str
    ranked: Ranked

    @property
    def percent(self) -> int:
        return round(100 * self.ranked.probability)


@dataclass(frozen=True, kw_only=True)
class RerankPage:
    """The form and, once it was sent and accepted, the texts with the better first."""

    form: RerankForm
    #: None where none is loaded; `missing` says what to do then.
    model: str | None
    missing: str = ""
    compared: Sequence[Compared] = ()
    took_ms: float | None = None


def run_bench(data: Mapping[str, Any] | None) -> RerankPage:
    """The page for what was sent; without it an empty form."""
    form = RerankForm(data)
    try:
        model = loaded_cross_encoder().model
    except Unavailable as error:
        return RerankPage(form=form, model=None, missing=error.detail)
    if data is None or not form.is_valid():
        return RerankPage(form=form, model=model)
    texts = {_("First text"): form.cleaned_data["first"], _("Second text"): form.cleaned_data["second"]}
    began = time.perf_counter()
    try:
        ranking = rank(query=form.cleaned_data["query"], texts=list(texts.values()))
    except EXPECTED as error:
        form.add_error(None, sentence(error))
        return RerankPage(form=form, model=model)
    took_ms = 1000 * (time.perf_counter() - began)
    named = list(texts.items())
    compared = [Compared(label=named[one.index][0], text=named[one.index][1], ranked=one) for one in ranking.ranked]
    return RerankPage(form=form, model=model, compared=compared, took_ms=took_ms)
