"""Searches as JSON: what may be asked, and how it is answered."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from collections_app.filters_api import FilterNameField
from core_app.api import (
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
    WhereField,
)
from search_app.asking import DEFAULT_LIMIT, LARGEST_GROUP, WIDEST_WINDOW, Expansion
from search_app.facets import MOST_FACETS
from search_app.modes import FUSIONS, LEGS, MODE_NAMES, MODES, RERANKERS
from search_app.results import Hit, SearchResult
from search_app.services import CONTEXTUALIZED_TOPIC, MOST_COLLECTIONS, RAW_QUERY
from search_app.tracing import MOST_TRACED, VERDICTS

MAX_QUERY_LENGTH = 4000
MOST_RESULTS = 100
_QUERY = f"Send a query of 1 to {MAX_QUERY_LENGTH} characters."
_TIMES = ", ".join(f"`{name}` {mode.budget_ms} ms" for name, mode in MODES.items())


class ExpansionField(StrictCharField):
    """What is shown around a passage."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        given = super().run_validation(data)
        return Expansion.parse(given) if isinstance(given, str) else given


class SearchSerializer(StrictSerializer):
    query = StrictCharField(
        max_length=MAX_QUERY_LENGTH,
        error_messages=dict.fromkeys(("required", "null", "blank", "max_length", "invalid"), _QUERY),
        help_text="What to look for, in words of your own or the text's.",
    )
    top_k = StrictIntegerField(
        default=DEFAULT_LIMIT, min_value=1, max_value=MOST_RESULTS, help_text="Most passages to return."
    )
    min_score = StrictFloatField(
        required=False, allow_null=True, min_value=0, max_value=1, help_text="Least similarity of a passage."
    )
    where = WhereField(required=False)
    filter = FilterNameField()
    topic = StrictCharField(
        required=False,
        allow_blank=True,
        max_length=MAX_QUERY_LENGTH,
        help_text="What a conversation is about so far; when given, it is searched for instead of the query.",
    )
    mode = serializers.ChoiceField(
        choices=MODE_NAMES,
        required=False,
        help_text=f"How much is done in what time: {_TIMES}. Left out: the collection's, or `balanced`.",
    )
    fusion = serializers.ChoiceField(
        choices=FUSIONS, required=False, help_text="How the legs are merged. Left out: the collection's, or the mode's."
    )
    lexical_weight = StrictFloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=1,
        help_text="Of words in a calibrated fusion, meaning has the rest. Left out: the collection's, or the query's.",
    )
    legs = serializers.ChoiceField(
        choices=LEGS, required=False, help_text="By meaning and words, or one of them. Left out: the server's setting."
    )
    reranker = serializers.ChoiceField(
        choices=(*RERANKERS, "none"),
        required=False,
        help_text="What puts the best in order once more. Left out: what the mode says, where it is configured.",
    )
    expand = ExpansionField(
        required=False,
        help_text=f"Show the `section`, the `document`, or `window:N` passages on both sides, N up to {WIDEST_WINDOW}.",
    )
    group_size = StrictIntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST_GROUP,
        help_text="At most so many passages of one document, together; `top_k` then counts documents.",
    )
    diversity = StrictFloatField(
        required=False, min_value=0, max_value=1, help_text="How much results are to differ from each other; 0: not."
    )
    highlight = StrictBooleanField(required=False, help_text="Say where `content` has words of the query.")
    facets = StrictListField(
        child=StrictCharField(max_length=200),
        required=False,
        max_length=MOST_FACETS,
        help_text="Fields of the metadata whose values are counted in all that was found.",
    )
    explain = StrictBooleanField(required=False, help_text="Say how the search was done and each score came about.")
    trace = StrictListField(
        child=StrictCharField(max_length=4096),
        required=False,
        max_length=MOST_TRACED,
        help_text="Ids of passages, or sources of documents: say at which rank they are, or what kept them out.",
    )


class SearchCollectionsSerializer(SearchSerializer):
    collections = StrictListField(
        child=StrictCharField(max_length=512),
        allow_empty=False,
        max_length=MOST_COLLECTIONS,
        help_text="Searched as if they were one.",
    )


class HitMetadataSerializer(serializers.Serializer[Any]):
    """The user's own metadata is here too, beside these."""

    source = serializers.CharField(allow_null=True, help_text="The document, as it was named at ingestion.")  # type: ignore[assignment]  # the API's word
    page_number = serializers.IntegerField(allow_null=True, help_text="From 1; null without pages.")
    chunk_index = serializers.IntegerField(allow_null=True, help_text="Place in the document, from 0.")
    section = serializers.CharField(allow_blank=True, help_text="Headings above the passage, outermost first.")
    similarity_score = serializers.FloatField(
        allow_null=True, help_text="0 to 1; null where no vector could be compared."
    )
    rrf_score = serializers.FloatField(help_text="Sum of 1 / (60 + rank) over the legs that found it.")


class LegExplanationSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True, help_text="From 1; null where the leg did not find it.")
    score = serializers.FloatField(allow_null=True, help_text="Similarity, or BM25.")
    normalised = serializers.FloatField(allow_null=True, help_text="On the leg's scale; null in a fusion by ranks.")
    share = serializers.FloatField(help_text="What the leg adds to the final score.")


class TermShareSerializer(serializers.Serializer[Any]):
    term = serializers.CharField()
    weight = serializers.FloatField()
    idf = serializers.FloatField()
    frequency = serializers.IntegerField(help_text="How often the passage has it.")
    length = serializers.IntegerField(help_text="Terms of the passage.")
    share = serializers.FloatField(help_text="What the term adds to the BM25 score.")


class RerankedHitSerializer(serializers.Serializer[Any]):
    score = serializers.FloatField(help_text="As the reranker gives it; of a chat model 0 to 10.")
    share = serializers.FloatField(help_text="What it adds to the score that the order is by now.")
    share_before = serializers.FloatField(help_text="What the score of before adds to it.")
    final = serializers.FloatField(help_text="The sum of both.")
    rank = serializers.IntegerField(help_text="Place by that score.")


class HitExplanationSerializer(serializers.Serializer[Any]):
    dense = LegExplanationSerializer()
    lexical = LegExplanationSerializer()
    terms = TermShareSerializer(many=True, help_text="Their shares add up to the BM25 score.")
    score = serializers.FloatField(help_text="What the order is by: the sum of both legs' shares.")
    rank = serializers.IntegerField(help_text="Place by that score, among all that was found.")
    reranked = RerankedHitSerializer(allow_null=True, help_text="Null where no reranker read the passage.")


class HitSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    collection = serializers.CharField()
    content = serializers.CharField(help_text="The passage, or the text around it where that is shown.")
    matched = serializers.CharField(
        allow_null=True, help_text="The passage that was found; null where `content` itself is it."
    )
    score = serializers.FloatField(help_text="Similarity, 0 to 1.")
    metadata = HitMetadataSerializer()
    highlights = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField(), min_length=2, max_length=2),
        required=False,
        help_text="Where `content` has words of the query: first character, and the one behind the last.",
    )
    explain = HitExplanationSerializer(required=False)


class SearchWarningSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()


class ValueCountSerializer(serializers.Serializer[Any]):
    value = serializers.JSONField(help_text="A string, a number or a truth value.")
    count = serializers.IntegerField()


class AskedTermSerializer(serializers.Serializer[Any]):
    term = serializers.CharField()
    weight = serializers.FloatField(help_text="0 where no passage has it.")
    chunks = serializers.IntegerField(
        help_text="Passages that have it; in several collections, of the language in which it counts most."
    )
    idf = serializers.FloatField()
    rarity = serializers.FloatField(help_text="How rare a name it is, such as `snake_case`; 0 for ordinary words.")
    worth = serializers.FloatField(
        help_text="What a name counts where several collections are compared by what they have of the query, whose "
        "other words count 1 together. What it adds to a score is by `weight`."
    )
    words = serializers.ListField(
        child=serializers.CharField(), help_text="What was written for it, the same in every language."
    )


class StageSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    began_ms = serializers.FloatField(help_text="How long after the search began.")
    took_ms = serializers.FloatField()


class SurvivorsSerializer(serializers.Serializer[Any]):
    condition = serializers.CharField()
    alone = serializers.IntegerField(
        allow_null=True, help_text="Passages that meet it; null where they were not counted."
    )
    together = serializers.IntegerField(help_text="Passages that meet it and all conditions before it.")


class ExplanationSerializer(serializers.Serializer[Any]):
    terms = AskedTermSerializer(many=True)
    ways = serializers.DictField(child=serializers.CharField(), help_text="How each leg looked.")
    lexical_weight = serializers.FloatField(allow_null=True, help_text="Of words in a calibrated fusion.")
    stages = StageSerializer(many=True)
    survivors = SurvivorsSerializer(many=True, help_text="Of a search without results: what each condition left.")


class LegPlaceSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True, help_text="From 1; null where the leg did not find it.")
    score = serializers.FloatField(allow_null=True, help_text="Similarity, or BM25.")
    why = serializers.CharField(allow_blank=True, help_text="Why it has no rank.")


class WhereaboutsSerializer(serializers.Serializer[Any]):
    asked = serializers.CharField(help_text="As it was asked for.")
    verdict = serializers.ChoiceField(choices=VERDICTS)
    detail = serializers.CharField(help_text="The same in a sentence.")
    id = serializers.CharField(allow_null=True)
    collection = serializers.CharField(allow_null=True)
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the API's word
    excerpt = serializers.CharField(allow_blank=True)
    dense = LegPlaceSerializer()
    lexical = LegPlaceSerializer()
    fused = serializers.IntegerField(allow_null=True, help_text="Place after fusion, from 1.")
    reranked = serializers.IntegerField(allow_null=True, help_text="Place by the reranker's score.")
    shown = serializers.IntegerField(allow_null=True, help_text="Place among the results.")
    fails = serializers.ListField(child=serializers.CharField(), help_text="Conditions of the filter it fails.")


class SearchResponseSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    results = HitSerializer(many=True)
    mode = serializers.ChoiceField(choices=MODE_NAMES)
    fusion = serializers.ChoiceField(choices=FUSIONS, help_text="What the order is by.")
    query_strategy = serializers.ChoiceField(choices=(RAW_QUERY, CONTEXTUALIZED_TOPIC))
    reranker = serializers.ChoiceField(choices=(*RERANKERS, "none"), help_text="What put the best in order.")
    reranked = serializers.IntegerField(help_text="How many of the best it read.")
    warnings = SearchWarningSerializer(many=True, help_text="What kept the search from being all it could be.")
    took_ms = serializers.FloatField()
    facets = serializers.DictField(child=ValueCountSerializer(many=True), required=False)
    explain = ExplanationSerializer(required=False)
    trace = WhereaboutsSerializer(many=True, required=False, help_text="Of what was asked for by name.")


def as_json(found: SearchResult) -> dict[str, Any]:
    """The answer; what was not asked for is left out of it."""
    answer: dict[str, Any] = {
        "count": len(found.hits),
        "results": [_hit(hit) for hit in found.hits],
        "mode": found.mode,
        "fusion": found.fusion,
        "query_strategy": found.query_strategy,
        "reranker": found.reranker,
        "reranked": found.reranked,
        "warnings": [asdict(warning) for warning in found.warnings],
        "took_ms": found.took_ms,
    }
    if found.facets:
        answer["facets"] = {field: [asdict(one) for one in counts] for field, counts in found.facets.items()}
    if found.explanation is not None:
        answer["explain"] = asdict(found.explanation)
    if found.traced:
        answer["trace"] = [asdict(one) for one in found.traced]
    return answer


def _hit(hit: Hit) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "id": hit.id,
        "collection": hit.collection,
        "content": hit.content,
        "matched": hit.matched,
        "score": hit.score,
        "metadata": hit.metadata,
    }
    if hit.highlights is not None:
        answer["highlights"] = hit.highlights
    if hit.explanation is not None:
        answer["explain"] = asdict(hit.explanation)
    return answer
