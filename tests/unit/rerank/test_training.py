"""What a reranker is trained on and measured by; no model is needed for it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import ir_measures
import pytest

from core_app.errors import InvalidInput, NotFound
from rerank_app.training.bm25 import WordIndex
from rerank_app.training.judged import Judged, read_candidates, read_judged, split
from rerank_app.training.measuring import Ordering, merged, ndcg


def write_lines(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def beir(folder: Path, *, judgements: str = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td9\t1\n") -> Path:
    write_lines(
        folder / "corpus.jsonl",
        {"_id": "d1", "title": "Tea", "text": "is hot"},
        {"_id": "d2", "text": "rye is a grain"},
    )
    write_lines(folder / "queries.jsonl", {"_id": "q1", "text": "hot drinks"}, {"_id": "q2", "text": "nothing"})
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(judgements, encoding="utf-8")
    return folder


def judged_of(texts: list[str]) -> Judged:
    queries = {f"q{place}": text for place, text in enumerate(texts)}
    return Judged(queries=queries, documents={"d": "text"}, grades={query: {"d": 1.0} for query in queries})


def test_beir_is_read_with_titles_and_without_what_cannot_be_found(tmp_path: Path) -> None:
    found = read_judged(beir(tmp_path))
    assert found.queries == {"q1": "hot drinks"}
    assert found.documents == {"d1": "Tea is hot", "d2": "rye is a grain"}
    assert found.grades == {"q1": {"d1": 1.0, "d2": 0.0}}


def test_judgements_of_all_parts_count_and_so_do_those_beside_the_texts(tmp_path: Path) -> None:
    beir(tmp_path)
    (tmp_path / "qrels" / "train.tsv").write_text("q2\t0\td2\t2\n", encoding="utf-8")  # four columns, as trec_eval has
    (tmp_path / "qrels.tsv").write_text("q1\td2\t1\n", encoding="utf-8")
    assert read_judged(tmp_path).grades["q2"]["d2"] == 2.0
    assert set(read_judged(tmp_path).grades["q1"]) == {"d1", "d2"}


def test_judged_queries_are_read(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "judged.jsonl",
        {"query": "hot", "text": "tea", "relevance": 1},
        {"query": "hot", "text": "ice", "relevance": 0},
        {"query": "cold", "text": "ice", "relevance": 2.5},
    )
    found = read_judged(path)
    assert found.grades == {"hot": {"tea": 1.0, "ice": 0.0}, "cold": {"ice": 2.5}}
    assert set(found.documents) == {"tea", "ice"}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "Line 1 of judged.jsonl is not one JSON object."),
        ("[1]", "Line 1 of judged.jsonl is not one JSON object."),
        ('{"query": "a", "relevance": 1}', "Line 1 of judged.jsonl is not {"),
        ('{"query": "a", "text": "b", "relevance": NaN}', "with a number as relevance."),
        ('{"query": "a", "text": "b", "relevance": 0}', "There are no judged pairs"),
    ],
)
def test_a_file_with_a_mistake_is_named_by_its_line(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "judged.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=sentence.replace("{", r"\{").replace(".", r"\.")):
        read_judged(tmp_path / "judged.jsonl")


def test_a_folder_that_is_not_beir_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such folder or file"):
        read_judged(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"no corpus\.jsonl"):
        read_judged(tmp_path)
    write_lines(tmp_path / "corpus.jsonl", {"_id": "d1", "text": "tea"})
    with pytest.raises(InvalidInput, match=r"no queries\.jsonl"):
        read_judged(tmp_path)
    write_lines(tmp_path / "queries.jsonl", {"_id": "q1"})
    with pytest.raises(InvalidInput, match=r"no judgements in qrels/\*\.tsv"):
        read_judged(tmp_path)
    (tmp_path / "qrels.tsv").write_text("q1\td1\t1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"Line 1 of queries\.jsonl"):
        read_judged(tmp_path)


def test_judgements_of_other_texts_are_no_judged_pairs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no judged pairs"):
        read_judged(beir(tmp_path, judgements="q1\td7\t1\nq1\td2\t0\n"))


def test_no_query_is_in_two_parts_and_none_is_lost() -> None:
    judged = judged_of([f"number {place}" for place in range(50)])
    parts = split(judged, hold_out=0.2, seed=7)
    everything = [*parts.learned_from, *parts.tuned_on, *parts.held_out]
    assert sorted(everything) == sorted(judged.queries)
    assert [len(parts.learned_from), len(parts.tuned_on), len(parts.held_out)] == [36, 4, 10]


def test_queries_of_the_same_words_stay_together() -> None:
    judged = judged_of([f"Number  {place // 3}" if place % 2 else f"number {place // 3}" for place in range(60)])
    for seed in range(5):
        parts = split(judged, hold_out=0.3, seed=seed)
        words = [
            {judged.queries[query].casefold().split()[1] for query in part}
            for part in (parts.learned_from, parts.tuned_on, parts.held_out)
        ]
        assert sum(len(found) for found in words) == len(set.union(*words))


def test_the_same_seed_is_the_same_split_whatever_the_order_of_the_file() -> None:
    texts = [f"number {place}" for place in range(40)]
    judged = judged_of(texts)
    backwards = Judged(
        queries=dict(reversed(list(judged.queries.items()))), documents=judged.documents, grades=judged.grades
    )
    assert split(judged, hold_out=0.2, seed=1) == split(backwards, hold_out=0.2, seed=1)
    assert split(judged, hold_out=0.2, seed=1) != split(judged, hold_out=0.2, seed=2)


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(InvalidInput, match="too few queries to hold some out: 9 "):
        split(judged_of([f"number {place}" for place in range(9)]), hold_out=0.2, seed=0)
    with pytest.raises(InvalidInput, match="too few queries"):  # twelve, all of the same words
        split(judged_of(["the same"] * 12), hold_out=0.2, seed=0)
    for share in (0.01, 0.9):
        parts = split(judged_of([f"number {place}" for place in range(10)]), hold_out=share, seed=0)
        assert all((parts.learned_from, parts.tuned_on, parts.held_out))


def test_candidates_are_read_best_first_and_without_what_is_unknown(tmp_path: Path) -> None:
    judged = read_judged(beir(tmp_path))
    listed = [{"document": "d2", "score": 0.1}, {"document": "d1", "score": 0.9}, {"document": "d7", "score": 1}]
    path = write_lines(tmp_path / "c.jsonl", {"query": "q1", "candidates": listed}, {"query": "q7", "candidates": []})
    assert list(read_candidates(path, judged)["q1"].items()) == [("d1", 0.9), ("d2", 0.1)]
    with pytest.raises(InvalidInput, match=r"No candidate is of a query and a document"):
        read_candidates(write_lines(path, {"query": "q7", "candidates": listed}), judged)
    with pytest.raises(InvalidInput, match=r"Line 1 of c\.jsonl is not"):
        read_candidates(write_lines(path, {"query": "q1", "candidates": ["d1"]}), judged)
    with pytest.raises(NotFound, match="no such file of candidates"):
        read_candidates(tmp_path / "nowhere", judged)


def test_words_find_what_has_them_and_rare_ones_count_more() -> None:
    index = WordIndex({"a": "the tea of the house", "b": "the house", "c": "Tea, tea and TEA", "d": "ink"})
    assert list(index.best("tea", most=10)) == ["c", "a"]
    assert list(index.best("the tea house", most=2)) == ["a", "b"]
    assert index.best("nothing", most=10) == {}


def test_ndcg_is_that_of_trec_eval() -> None:
    draw = random.Random(3)
    names = [f"d{number}" for number in range(30)]
    for _ in range(50):
        grades = {name: draw.randint(0, 3) for name in draw.sample(names, 8)} | {"d0": 1}
        ranked = draw.sample(names, 15)
        qrels = [ir_measures.Qrel("q", name, grade) for name, grade in grades.items()]
        run = [ir_measures.ScoredDoc("q", name, -float(rank)) for rank, name in enumerate(ranked)]
        reference = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10]
        assert ndcg(ranked, {name: float(grade) for name, grade in grades.items()}) == pytest.approx(reference)


def test_both_scores_are_brought_to_one_scale() -> None:
    candidates = {"a": 1000.0, "b": 600.0, "c": 0.0, "d": -5.0}
    scores = {"a": -3.0, "b": -1.5, "c": -1.0}  # d was too far behind to be read
    assert merged(candidates, scores, weight=0.0) == ["a", "b", "c", "d"]
    assert merged(candidates, scores, weight=1.0) == ["c", "b", "a", "d"]
    assert merged(candidates, scores, weight=0.5) == ["b", "a", "c", "d"]
    assert merged({"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, weight=0.5) == ["a", "b"]


def test_quality_of_a_query_without_candidates_counts_as_nothing() -> None:
    ordering = Ordering(candidates={"q": {"a": 2.0, "b": 1.0}, "r": {}}, grades={"q": {"b": 1.0}, "r": {"a": 1.0}})
    quality = ordering.quality(["q", "r"], {"q": {"a": 0.0, "b": 1.0}}, 0.9)
    assert (quality.alone, quality.interpolated) == (0.5, 0.5)
    assert quality.candidates == pytest.approx(0.5 / 1.58496, abs=1e-4)
