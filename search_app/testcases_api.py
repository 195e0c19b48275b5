"""Test cases over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import (
    ErrorSerializer,
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
)
from core_app.errors import InvalidInput
from search_app.judging import Judged
from search_app.models import TestCase, TestRun
from search_app.serializers import MAX_QUERY_LENGTH
from search_app.testcase_files import as_row
from search_app.testcases import (
    HIGHEST_GRADE,
    LONGEST_NAME,
    MOST_JUDGEMENTS,
    SETTINGS,
    delete_case,
    list_cases,
    save_case,
)
from search_app.testruns import CHANGES, MOST_IN_REQUEST, RunReport, latest_runs, run_cases

ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)
WITH_BODY = {**ERRORS, **dict.fromkeys((413, 415, 503), ErrorSerializer)}


class JudgementSerializer(StrictSerializer):
    id = StrictCharField(max_length=4096, help_text="Of the passage, as searches return it.")
    grade = StrictIntegerField(min_value=0, max_value=HIGHEST_GRADE, help_text="0: not relevant.")
    source = StrictCharField(  # type: ignore[assignment]  # the API's word
        required=False, allow_blank=True, max_length=4096, help_text="Left out: that of the stored passage."
    )
    excerpt = StrictCharField(
        required=False,
        allow_blank=True,
        help_text="The passage's beginning, by which it is known when its source is cut anew.",
    )


class NewTestCaseSerializer(StrictSerializer):
    name = StrictCharField(max_length=LONGEST_NAME, help_text="Of the collection's test cases one has it.")
    query = StrictCharField(max_length=MAX_QUERY_LENGTH)
    topic = StrictCharField(required=False, allow_blank=True, max_length=MAX_QUERY_LENGTH)
    where = serializers.DictField(required=False, allow_null=True, help_text="A filter, as a search takes it.")
    settings = serializers.DictField(
        required=False, help_text=f"How it is searched: {', '.join(SETTINGS)}. Left out: as the collection has it."
    )
    expected_ndcg_at_10 = StrictFloatField(
        required=False, allow_null=True, min_value=0, max_value=1, help_text="Less than this is worse than expected."
    )
    judgements = StrictListField(
        child=JudgementSerializer(), max_length=MOST_JUDGEMENTS, help_text="At least one with a grade above 0."
    )
    replace = StrictBooleanField(required=False, help_text="Take the place of the one of this name.")


class StoredJudgementSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    grade = serializers.IntegerField()
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # the API's word
    excerpt = serializers.CharField(allow_blank=True)


class TestRunSerializer(serializers.Serializer[Any]):
    ran_at = serializers.DateTimeField()
    first_rank = serializers.IntegerField(allow_null=True, help_text="Of the first relevant passage, from 1.")
    hit = serializers.BooleanField(help_text="Whether a relevant passage is among the first `top_k` of the case.")
    ndcg_at_10 = serializers.FloatField(allow_null=True, help_text="0 to 1; null where the search failed.")
    results = serializers.ListField(child=serializers.CharField(), help_text="Ids of the first ten.")
    warnings = serializers.ListField(child=serializers.CharField(), help_text="Codes of the search's warnings.")
    error = serializers.CharField(allow_blank=True, help_text="The code of why it failed.")


class TestCaseSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    query = serializers.CharField(allow_blank=True)
    topic = serializers.CharField(allow_blank=True)
    where = serializers.DictField(allow_null=True)
    settings = serializers.DictField()
    expected_ndcg_at_10 = serializers.FloatField(allow_null=True)
    judgements = StoredJudgementSerializer(many=True)
    last_run = TestRunSerializer(allow_null=True)


class TestCasesSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    test_cases = TestCaseSerializer(many=True)


class DeletedTestCaseSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=("deleted",))
    name = serializers.CharField()


class WhichTestCasesSerializer(StrictSerializer):
    names = StrictListField(
        child=StrictCharField(max_length=LONGEST_NAME),
        required=False,
        allow_empty=False,
        max_length=MOST_IN_REQUEST,
        help_text=f"Left out: all, if they are {MOST_IN_REQUEST} at most.",
    )


class RunReportSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    change = serializers.ChoiceField(choices=CHANGES, help_text="Against the run before.")
    is_below_expected = serializers.BooleanField()
    detail = serializers.CharField(
        allow_blank=True, help_text="Why it failed, or which judged passages are lost to it where it is worse."
    )
    run = TestRunSerializer()


class RunReportsSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    worse = serializers.IntegerField(help_text="Worse than in the run before.")
    below_expected = serializers.IntegerField()
    results = RunReportSerializer(many=True)


class TestCasesView(ApiView):
    """Questions with judged passages, to find out whether a change makes retrieval better."""

    verbs = {"GET": Verb.READ, "POST": Verb.WRITE, "DELETE": Verb.DELETE}
    parameters = {"DELETE": ("case",)}

    @extend_schema(
        operation_id="list_test_cases",
        summary="List test cases",
        tags=["testing"],
        responses={200: TestCasesSerializer, **ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        found = list(list_cases(collection_name=name))
        runs = latest_runs(case_ids=[case.pk for case in found])
        shown = [_case(case, runs.get(case.pk, ())) for case in found]
        return Response({"count": len(shown), "test_cases": shown})

    @extend_schema(
        operation_id="save_test_case",
        summary="Save a test case",
        tags=["testing"],
        request=NewTestCaseSerializer,
        responses={201: TestCaseSerializer, 409: ErrorSerializer, **WITH_BODY},
    )
    def post(self, request: Request, name: str) -> Response:
        body = NewTestCaseSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = dict(body.validated_data)
        judgements = [Judged(external_id=row.pop("id"), **row) for row in given.pop("judgements")]
        expected = given.pop("expected_ndcg_at_10", None)
        case = save_case(
            collection_name=name, judgements=judgements, expected=expected, saved_by=self.caller.name, **given
        )
        return Response(_case(case, ()), status=201)

    @extend_schema(
        operation_id="delete_test_case",
        summary="Delete a test case",
        tags=["testing"],
        parameters=[OpenApiParameter("case", str, required=True, description="Its name.")],
        responses={200: DeletedTestCaseSerializer, **ERRORS, 503: ErrorSerializer},
    )
    def delete(self, request: Request, name: str) -> Response:
        case = request.query_params.get("case", "")
        if not case:
            raise InvalidInput("Name the test case: ?case=NAME.", code="missing_parameter")
        delete_case(collection_name=name, name=case)
        return Response({"status": "deleted", "name": case})


class RunTestCasesView(ApiView):
    """What they find now."""

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="run_test_cases",
        summary="Run test cases",
        tags=["testing"],
        request=WhichTestCasesSerializer,
        responses={200: RunReportsSerializer, **WITH_BODY},
    )
    def post(self, request: Request, name: str) -> Response:
        body = WhichTestCasesSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        names = body.validated_data.get("names")
        reports = list(run_cases(collection_name=name, names=names, ran_by=self.caller.name))
        return Response(
            {
                "count": len(reports),
                "worse": sum(report.change == "worse" for report in reports),
                "below_expected": sum(report.is_below_expected for report in reports),
                "results": [_report(report) for report in reports],
            }
        )


def _case(case: TestCase, runs: Sequence[TestRun]) -> dict[str, Any]:
    return {**as_row(case), "last_run": _run(runs[0]) if runs else None}


def _run(run: TestRun) -> dict[str, Any]:
    return {
        "ran_at": run.ran_at,
        "first_rank": run.first_rank,
        "hit": run.hit,
        "ndcg_at_10": run.ndcg_at_10,
        "results": run.results,
        "warnings": run.warnings,
        "error": run.error,
    }


def _report(report: RunReport) -> dict[str, Any]:
    return {
        "name": report.case.name,
        "change": report.change,
        "is_below_expected": report.is_below_expected,
        "detail": report.detail,
        "run": _run(report.run),
    }
