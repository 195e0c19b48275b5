"""The playground: one question, searched in one way or two through the same service as the API, with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.http import HttpRequest, QueryDict

from console_app.failures import EXPECTED, sentence
from console_app.moves import Move, in_short, moves
from console_app.passages import Bar, Passage, best_score, passage_of, survivor_bars, waterfall
from console_app.playground_forms import OTHER, QuestionForm, SettingsForm
from console_app.reached import collections_for
from console_app.seen import mark
from console_app.selectors import chunks_of_hits
from console_app.snippets import as_curl, as_python, request_of
from search_app.emptiness import Survivors
from search_app.models import TestCase
from search_app.results import SearchResult
from search_app.services import search_collections
from search_app.testcases import QUESTION, cases
from search_app.testruns import judged_hits
from search_app.tracing import Whereabouts


@dataclass(frozen=True, kw_only=True)
class Missed:
    """Where a passage is, with its place among the judgements of the page."""

    about: Whereabouts
    number: int | None = None
    grade: int | None = None
    judged_as: str = ""
    #: The grade that is stored, as the form sends it.
    shown: str = ""


@dataclass(kw_only=True)
class Side:
    """One way to search, and what it found."""

    #: A or B.
    name: str
    form: SettingsForm
    result: SearchResult | None = None
    passages: Sequence[Passage] = ()
    missed: Sequence[Missed] = ()
    error: str = ""
    curl: str = ""
    python: str = ""

    @cached_property
    def stages(self) -> list[Bar]:
        return waterfall(self.result) if self.result else []

    @cached_property
    def survivors(self) -> list[tuple[Survivors, Bar]]:
        explanation = self.result.explanation if self.result else None
        return survivor_bars(explanation.survivors) if explanation else []

    @property
    def is_filtered_out(self) -> bool:
        """Whether it is the filter that leaves nothing."""
        if not self.form.cleaned_data.get("where"):
            return False
        # The conditions before the words of the query and the least score are the filter's.
        return any(not step.together for step, _bar in self.survivors if step.alone is not None)

    @property
    def keys(self) -> list[tuple[str, str]]:
        return [passage.key for passage in self.passages]


@dataclass(kw_only=True)
class QueryPage:
    """The forms and, once they were sent and accepted, what was found."""

    form: QuestionForm
    a: Side
    b: Side
    #: Those that were searched.
    sides: Sequence[Side] = ()
    #: What moved from A to B, and the passages that only A has.
    moved: str = ""
    case: TestCase | None = None
    #: Grades by id, the name and the side that were sent and could not be saved.
    kept: Mapping[str, int | None] = field(default_factory=dict)
    name: str = ""
    chosen: str = "A"
    #: The address after its question mark: all of the page is in it.
    address: str = ""
    collections: Sequence[str] = field(default_factory=list)

    @property
    def seen(self) -> str:
        """The mark of the test case's question; empty where there is no test case."""
        return mark(question_of(self.case)) if self.case is not None else ""

    @property
    def is_compared(self) -> bool:
        return len(self.sides) > 1

    @property
    def is_several(self) -> bool:
        """Whether several collections were searched."""
        return len(self.form.cleaned_data["collection"]) > 1


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Who looks at the page: whose searches are logged, and what of test cases is shown."""

    name: str
    base: str
    cases: Any  # a query set of test cases that they may see


def asker_of(request: HttpRequest) -> Asker:
    """Who looks at the playground."""
    seen = cases().filter(collection__in=collections_for(request.user, "view_tests"))
    base = request.build_absolute_uri("/").rstrip("/")
    return Asker(name=request.user.get_username(), base=base, cases=seen)


def question_of(case: TestCase) -> list[Any]:
    """What a test case asks, for the mark of the form that replaces it."""
    return [getattr(case, key) for key in QUESTION]


def run_query(
    data: QueryDict, *, names: Sequence[str], asker: Asker, kept: Mapping[str, int | None] | None = None
) -> QueryPage:
    """The page for these GET parameters; without a query it is an empty form. `names` are of the collections.

    `kept` are grades by id that were sent and could not be saved: they are shown in place of the test case's.
    """
    if "query" not in data:
        chosen = data.getlist("collection") or names[:1]
        form = QuestionForm(collections=names, initial={"collection": chosen})
        return QueryPage(form=form, a=_side("A"), b=_side("B"), collections=names)
    form = QuestionForm(data, collections=names)
    page = QueryPage(
        form=form,
        a=_side("A", data),
        b=_side("B", data if "compare" in data else None),
        collections=names,
        address=data.urlencode(),
        kept=kept or {},
    )
    is_good = form.is_valid()
    wanted = [page.a, page.b] if is_good and form.cleaned_data["compare"] else [page.a]
    # Each is asked, so that each shows its mistakes.
    if [side.name for side in wanted if not side.form.is_valid()] or not is_good:
        return page
    page.sides = wanted
    page.case = asker.cases.filter(pk=form.cleaned_data["case"]).first() if form.cleaned_data["case"] else None
    for side in wanted:
        _search(side, form.cleaned_data, asker)
    _show(wanted)
    _judge(page)
    if page.is_compared:
        _compare(page)
    return page


def _side(name: str, data: QueryDict | None = None) -> Side:
    return Side(name=name, form=SettingsForm(data, prefix=OTHER if name == "B" else None))


def _search(side: Side, asked: Mapping[str, Any], asker: Asker) -> None:
    names = asked["collection"]
    question = {"query": asked["query"], **({"topic": asked["topic"]} if asked["topic"] else {})}
    address, body = request_of(base=asker.base, collections=names, question=question, given=side.form.given())
    side.curl, side.python = as_curl(address, body), as_python(address, body)
    try:
        result = search_collections(
            collection_names=names,
            query=asked["query"],
            topic=asked["topic"],
            highlight=True,
            explain=True,
            trace=[asked["missed"]] if asked["missed"] else (),
            asked_by=asker.name,
            **side.form.options(),  # type: ignore[misc]  # none of those above is among them
        )
    except EXPECTED as error:
        side.error = sentence(error)
        return
    side.result = result
    side.missed = [Missed(about=about) for about in result.traced]


def _show(sides: Sequence[Side]) -> None:
    """Passages with their chunks, which are read once for all sides."""
    hits = [hit for side in sides if side.result for hit in side.result.hits]
    chunks = chunks_of_hits({(hit.collection, hit.id) for hit in hits})
    for side in sides:
        found = side.result.hits if side.result else ()
        most = best_score(found)
        side.passages = [passage_of(hit, chunk=chunks.get((hit.collection, hit.id)), most=most) for hit in found]


def _judge(page: QueryPage) -> None:
    """Number what can be judged, each passage once, with what its test case says of it."""
    known = _known(page)
    numbered: set[tuple[str, str]] = set()

    def number(key: tuple[str, str]) -> int | None:
        if key in numbered:
            return None
        numbered.add(key)
        return len(numbered)

    for side in page.sides:
        side.passages = [replace(one, number=number(one.key), **_judged(known, one.hit.id)) for one in side.passages]
    for side in page.sides:
        side.missed = [
            replace(one, number=number((one.about.collection or "", one.about.id)), **_judged(known, one.about.id))
            if one.about.id
            else one
            for one in side.missed
        ]


def _known(page: QueryPage) -> dict[str, _Known]:
    """Grades by the id of what is on the page, with the id under which each was judged, known as runs know it."""
    known: dict[str, _Known] = {}
    if page.case is not None:
        known = {row.external_id: _known_as(row.grade, row.external_id) for row in page.case.judgements.all()}
        lists = [side.result.hits if side.result else () for side in page.sides]
        for hits, of_hits in zip(lists, judged_hits(case=page.case, lists=lists), strict=True):
            for hit, judged in zip(hits, of_hits, strict=True):
                if judged is not None:
                    known[hit.id] = _known_as(judged.grade, judged.external_id)
                elif hit.id in known:
                    # Another text has this id now: what was judged is not this.
                    del known[hit.id]
    # What was just judged, and could not be saved.
    return known | {
        external_id: replace(known.get(external_id, _Known()), grade=grade) for external_id, grade in page.kept.items()
    }


@dataclass(frozen=True, kw_only=True)
class _Known:
    """The grade of a passage on the page, and what is stored of it."""

    grade: int | None = None
    judged_as: str = ""
    shown: str = ""


def _known_as(grade: int, external_id: str) -> _Known:
    return _Known(grade=grade, judged_as=external_id, shown="1" if grade else "0")


def _judged(known: Mapping[str, _Known], external_id: str) -> dict[str, Any]:
    found = known.get(external_id, _Known())
    judged_as = "" if found.judged_as == external_id else found.judged_as
    return {"grade": found.grade, "judged_as": judged_as, "shown": found.shown}


def _compare(page: QueryPage) -> None:
    moved: Mapping[tuple[str, str], Move] = moves(page.a.keys, page.b.keys)
    page.moved = in_short(moved)
    page.b.passages = [replace(one, move=moved[one.key]) for one in page.b.passages]
    page.a.passages = [
        replace(one, move=moved[one.key]) if moved[one.key].kind == "gone" else one for one in page.a.passages
    ]
