"""Test cases: listed, saved from the playground, run, deleted. What they are and find is for the services to say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, QueryDict
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from access_app.reach import patterns_of
from console_app.failures import EXPECTED, sentence
from console_app.pages import Action, CappedPaginator, ServiceAdmin
from console_app.permissions import may, require
from console_app.playground_forms import OTHER, QuestionForm, SettingsForm
from console_app.query import asker_of, question_of, run_query
from console_app.reached import CollectionFilter, collections_for, names_for
from console_app.seen import is_stale
from core_app.errors import Conflict, InvalidInput
from core_app.names import readable, visible
from search_app.judging import Judged
from search_app.models import TestCase, TestRun
from search_app.testcases import MOST_JUDGEMENTS, QUESTION, cases, delete_case, expect, judged_of, save_case
from search_app.testruns import (
    MOST_IN_REQUEST,
    MOST_TOLD,
    RunReport,
    change,
    latest_runs,
    losses_of,
    results_of,
    run_case,
    run_cases,
)

RUNS_SHOWN = 20
_WORDS: Mapping[str, Any] = {
    "better": gettext_lazy("better"),
    "worse": gettext_lazy("worse"),
    "same": gettext_lazy("same"),
    "first": gettext_lazy("first run"),
    "failed": gettext_lazy("failed"),
}
_SIGNS: Mapping[str, str] = {"better": "↑", "worse": "↓", "same": "=", "first": "•", "failed": "!"}


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run as a row of a table."""

    run: TestRun
    change: str

    @property
    def tag(self) -> SafeString:
        return tag(self.change)


def tag(how: str) -> SafeString:
    """Better or worse, in words beside the colour."""
    return format_html(
        '<span class="pg-tag pg-tag--{}"><span aria-hidden="true">{}</span> {}</span>', how, _SIGNS[how], _WORDS[how]
    )


@admin.register(TestCase)
class TestCaseAdmin(ServiceAdmin):
    list_display = ("name", "question", "of", "judged", "last", "changed")
    list_display_links = ("name",)
    list_filter = (("collection", CollectionFilter),)
    list_filter_submit = True
    list_select_related = ("collection",)
    search_fields = ("name", "query")
    search_help_text = gettext_lazy("Search by name or question")
    paginator = CappedPaginator
    sortable_by = ("name",)
    ordering = ("name", "id")
    empty_title = gettext_lazy("No test cases yet")  # type: ignore[assignment]
    empty_text = gettext_lazy(  # type: ignore[assignment]
        "A test case is a question with passages that somebody judged. Try a query, judge what it finds, and save it: "
        "running it again shows whether a change made retrieval better or worse."
    )

    class Media:
        css = {"all": ("console/playground.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[TestCase]:
        return self.within_reach(cases(), patterns_of(request.user, self.view_permission))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request.user, "view_tests")

    def get_urls(self) -> list[URLPattern]:
        def route(address: str, view: Any, name: str) -> URLPattern:
            found: URLPattern = path(address, self.admin_site.admin_view(view), name=f"search_testcase_{name}")
            return found

        return [
            route("run/", self.run_all_view, "run_all"),
            route("<int:case_id>/run/", self.run_view, "run"),
            route("<int:case_id>/expect/", self.expect_view, "expect"),
            *super().get_urls(),
        ]

    def list_actions(self, request: HttpRequest) -> list[Action]:
        actions = []
        if may(request.user, "query"):
            url = reverse("admin:collections_collection_query")
            actions.append(Action(label=_("Try a query"), url=url, icon="search", primary=True))
        collection = request.GET.get("collection__id__exact", "")
        if collection.isdigit() and may(request.user, "run_tests"):
            url = f"{reverse('admin:search_testcase_run_all')}?collection={collection}"
            actions.append(Action(label=_("Run all"), url=url, icon="play_arrow", primary=False))
        return actions

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        require(request, "view_tests")
        return super().changelist_view(request, {"title": _("Test cases"), **(extra_context or {})})

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """With the last runs of the rows of this page, read at once."""
        found = super().get_changelist_instance(request)
        runs = latest_runs(case_ids=[row.pk for row in found.result_list])
        for row in found.result_list:
            row.latest = runs.get(row.pk, ())
        return found

    @admin.display(description=gettext_lazy("Question"))
    def question(self, row: TestCase) -> SafeString:
        return format_html('<span class="rs-excerpt"><bdi>{}</bdi></span>', readable(row.topic or row.query))

    @admin.display(description=gettext_lazy("Collection"))
    def of(self, row: TestCase) -> SafeString:
        return format_html(
            '<span class="rs-excerpt rs-excerpt--narrow"><bdi>{}</bdi></span>', visible(row.collection.name)
        )

    @admin.display(description=gettext_lazy("Judged"))
    def judged(self, row: TestCase) -> str:
        rows = row.judgements.all()
        relevant = sum(one.grade > 0 for one in rows)
        return _("%(relevant)s relevant, %(other)s not") % {"relevant": relevant, "other": len(rows) - relevant}

    @admin.display(description=gettext_lazy("Last run"))
    def last(self, row: Any) -> Any:
        return in_short(row.latest[0]) if row.latest else _("not run")

    @admin.display(description=gettext_lazy("Against the run before"))
    def changed(self, row: Any) -> Any:
        return tag(change(row.latest[1] if len(row.latest) > 1 else None, row.latest[0])) if row.latest else ""

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Save what was judged in the playground, and run it."""
        require(request, "save_tests")
        if request.method != "POST":
            return redirect("admin:collections_collection_query")
        try:
            case = self._saved(request)
            # A run searches and is kept: who may only save leaves it to others.
            if may(request.user, "run_tests", case.collection):
                report = run_case(case=case, ran_by=request.user.get_username())
                if case.expected is None and report.run.ndcg_at_10 is not None:
                    expect(case=case, ndcg_at_10=report.run.ndcg_at_10)
        except EXPECTED as error:
            messages.error(request, sentence(error))
            return self._judged_again(request)
        messages.success(request, _("The test case '%(name)s' is saved.") % {"name": case.name})
        return redirect("admin:search_testcase_change", case.pk)

    def _judged_again(self, request: HttpRequest) -> HttpResponse:
        """The playground as it was, with the grades and the name that could not be saved."""
        data = QueryDict(request.POST.get("address", ""))
        if not may(request.user, "query"):
            return redirect("admin:search_testcase_changelist")
        found = run_query(
            data, names=names_for(request.user, "query"), asker=asker_of(request), kept=grades_of(request.POST)
        )
        found.name = request.POST.get("name", "")
        found.chosen = "B" if request.POST.get("side") == "B" else "A"
        return self.page(request, "query.html", title=_("Try a query"), found=found)

    def _saved(self, request: HttpRequest) -> TestCase:
        """The question and its settings are read from the page's address by the same forms as the page."""
        data = QueryDict(request.POST.get("address", ""))
        question = QuestionForm(data, collections=self._names(request))
        settings = SettingsForm(data, prefix=OTHER if request.POST.get("side") == "B" else None)
        if not question.is_valid() or not settings.is_valid() or len(question.cleaned_data["collection"]) != 1:
            raise InvalidInput(_("Search one collection first, then judge what it finds."))
        with transaction.atomic():
            known = self._known(request)
            return self._save(request, question.cleaned_data, settings.given(), known)

    def _known(self, request: HttpRequest) -> TestCase | None:
        """The test case that the page is about, locked; None where it is about none."""
        if not request.POST.get("case"):
            return None
        key = self.found(request, request.POST["case"]).pk
        TestCase.objects.select_for_update().filter(pk=key).first()
        return cases().get(pk=key)

    def _save(
        self, request: HttpRequest, question: Mapping[str, Any], given: dict[str, Any], known: TestCase | None
    ) -> TestCase:
        collection = question["collection"][0]
        if known is not None and known.collection.name != collection:
            raise InvalidInput(_("This test case belongs to another collection."))
        if known is not None and is_stale(request.POST, question_of(known)):
            raise Conflict(_("Its question was changed meanwhile, and nothing was saved. Save again to replace it."))
        asked = {
            "query": question["query"],
            "topic": question["topic"],
            "where": given.pop("where", None),
            "settings": given,
        }
        is_same = known is not None and all(getattr(known, key) == asked[key] for key in QUESTION)
        return save_case(
            collection_name=collection,
            name=request.POST.get("name", "") if known is None else known.name,
            judgements=judgements_of(request.POST, before=judged_of(known) if known else ()),
            saved_by=request.user.get_username(),
            # What was expected of another question is nothing to expect of this one.
            expected=known.expected if known is not None and is_same else None,
            replace=known is not None,
            **asked,
        )

    def _names(self, request: HttpRequest) -> list[str]:
        return names_for(request.user, "save_tests")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One test case: what was judged, and what each run of it found."""
        require(request, "view_tests")
        case = self.found(request, object_id)
        runs = list(case.runs.all()[: RUNS_SHOWN + 1])
        rows = [
            RunRow(run=run, change=change(runs[place + 1] if place + 1 < len(runs) else None, run))
            for place, run in enumerate(runs)
        ]
        return self.page(
            request,
            "testcase.html",
            title=case.name,
            row=case,
            address=address_of(case),
            runs=rows[:RUNS_SHOWN],
            results=results_of(run=runs[0]) if runs else [],
            losses=losses_of(case=case)[:MOST_TOLD],
        )

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Delete a test case with its judgements and runs."""
        require(request, "delete_tests")
        case = self.found(request, object_id)
        if request.method == "POST":
            try:
                delete_case(collection_name=case.collection.name, name=case.name)
            except EXPECTED as error:
                messages.error(request, sentence(error))
            else:
                messages.success(request, _("The test case '%(name)s' was deleted.") % {"name": case.name})
            return redirect("admin:search_testcase_changelist")
        return self.page(request, "testcase_delete.html", title=_("Delete test case"), row=case)

    def run_view(self, request: HttpRequest, case_id: int) -> HttpResponse:
        """Run one now."""
        require(request, "run_tests")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        case = self.found(request, str(case_id))
        try:
            report = run_case(case=case, ran_by=request.user.get_username())
        except EXPECTED as error:
            messages.error(request, sentence(error))
        else:
            if report.detail:
                messages.error(request, report.detail)
        return redirect("admin:search_testcase_change", case_id)

    def expect_view(self, request: HttpRequest, case_id: int) -> HttpResponse:
        """What the last run found is what is expected from now on."""
        require(request, "save_tests")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        case = self.found(request, str(case_id))
        last = case.runs.first()
        if last is None or last.ndcg_at_10 is None:
            messages.error(request, _("Run it first: the last run has found nothing that could be expected."))
        else:
            expect(case=case, ndcg_at_10=last.ndcg_at_10)
        return redirect("admin:search_testcase_change", case_id)

    def run_all_view(self, request: HttpRequest) -> HttpResponse:
        """Run all of a collection while they are few; for more the page names the command."""
        require(request, "run_tests")
        chosen = request.GET.get("collection", "")
        reached = collections_for(request.user, "run_tests")
        collection = reached.filter(pk=int(chosen)).first() if chosen.isdecimal() and len(chosen) < 19 else None
        if collection is None:
            if chosen:
                raise Http404
            return redirect("admin:search_testcase_changelist")
        count = self.get_queryset(request).filter(collection=collection).count()
        reports: list[RunReport] = []
        if request.method == "POST":
            try:
                reports = list(run_cases(collection_name=collection.name, ran_by=request.user.get_username()))
            except EXPECTED as error:
                messages.error(request, sentence(error))
        return self.page(
            request,
            "testcases_run.html",
            title=_("Run test cases"),
            collection=collection,
            count=count,
            most=MOST_IN_REQUEST,
            reports=[(report, tag(report.change), in_short(report.run)) for report in reports],
        )


def in_short(run: TestRun) -> str:
    """What a run found, in a line."""
    if run.error or run.ndcg_at_10 is None:
        return _("failed: %(code)s") % {"code": run.error}
    found = _("nDCG@10 %(value)s") % {"value": number_format(run.ndcg_at_10, 3)}
    if run.first_rank is None:
        return _("%(found)s, nothing relevant found") % {"found": found}
    return _("%(found)s, first relevant at %(rank)s") % {"found": found, "rank": run.first_rank}


def grades_of(posted: QueryDict) -> dict[str, int | None]:
    """Grades by passage as they were changed on the page; null for what was made unjudged."""
    found: dict[str, int | None] = {}
    for number in _numbers(posted):
        if not _is_changed(posted, number):
            continue
        grade = str(posted.get(f"grade-{number}", ""))
        found[str(posted[f"id-{number}"])] = int(grade) if grade in {"0", "1"} else None
    return found


def judgements_of(posted: QueryDict, *, before: Sequence[Judged]) -> list[Judged]:
    """What was changed on the page over what was judged before, so that nobody else's judgement is lost."""
    known = {judged.external_id: judged for judged in before}
    for number in _numbers(posted):
        external_id, grade = str(posted[f"id-{number}"]), str(posted.get(f"grade-{number}", ""))
        before_it = str(posted.get(f"was-{number}", ""))
        if before_it in known and external_id not in known:
            # It was judged under another id, before its source was cut anew.
            known[external_id] = Judged(external_id=external_id, grade=known.pop(before_it).grade)
        if not _is_changed(posted, number):
            continue
        was = known.pop(external_id, None) or Judged(external_id=external_id, grade=0)
        if grade in {"0", "1"}:
            # One click does not make a grade of 3, which was imported, one of 1.
            is_same = was.grade > 0 and grade == "1"
            known[external_id] = was if is_same else replace(was, grade=int(grade))
    return list(known.values())


def _numbers(posted: QueryDict) -> Iterator[int]:
    return takewhile(lambda number: f"id-{number}" in posted, range(1, MOST_JUDGEMENTS + 1))


def _is_changed(posted: QueryDict, number: int) -> bool:
    """Whether a passage was given another grade than the page showed, or none was sent that it showed."""
    return posted.get(f"shown-{number}") != posted.get(f"grade-{number}", "")


def address_of(case: TestCase) -> str:
    """The playground with this case in it, after the question mark."""
    data = QueryDict(mutable=True)
    data.setlist("collection", [case.collection.name])
    data.update({"query": case.query, "case": str(case.pk)})
    if case.topic:
        data["topic"] = case.topic
    if case.where is not None:
        data["where"] = json.dumps(case.where, ensure_ascii=False)
    for key, value in case.settings.items():
        data[key] = str(value)
    return data.urlencode()
