"""Answers over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from answers_app.codes import INVALID, NO_EVIDENCE
from answers_app.serializers import AnswerSerializer, QuestionSerializer, as_json
from answers_app.services import Question, answer
from core_app.api import ErrorSerializer

ERRORS = dict.fromkeys((400, 401, 403, 404, 413, 415, 429, 500, 502, 503, 504), ErrorSerializer)


class AnswerView(ApiView):
    """E: a question, answered from passages that can be checked."""

    verbs = {"POST": Verb.SEARCH}
    #: Of errors that no step of the answer raises: the code by status (README.md 6).
    codes: ClassVar[Mapping[int, str]] = {400: INVALID, 404: NO_EVIDENCE}

    @extend_schema(
        operation_id="answer_question",
        summary="Answer a question",
        description="Needs a chat model. Errors carry RAG-ERR codes: 001 and 002 of the store, 003 and 004 of the "
        "model, 005 for the question, 006 where nothing was found, 007 for a step that failed.",
        tags=["answers"],
        request=QuestionSerializer,
        responses={200: AnswerSerializer, **ERRORS},
    )
    def post(self, request: Request) -> Response:
        body = QuestionSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        for name in given["collections"]:
            self.caller.require(Verb.SEARCH, name)
        asked = Question(
            text=given["question"],
            collections=given["collections"],
            top_k=given["top_k"],
            top_n=given["top_n"],
            where=given.get("where"),
            filter_name=given.get("filter"),
            asked_by=self.caller.name,
        )
        return Response(as_json(answer(question=asked)))
