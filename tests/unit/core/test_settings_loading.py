"""The order of the sources and what stops a start (FR-007, NFR-004, SC-003; README 9 and 12)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_app.config_loading import MASK, ConfigurationError, LoadedSettings, load_settings, masked

FIRST = "appsettings.json"
SECRET = "hunter2hunter2"


def write(folder: Path, **files: Any) -> None:
    """Write `appsettings.json` as `base` and `appsettings.NAME.json` by name; bytes go in as they are."""
    for name, content in files.items():
        path = folder / (FIRST if name == "base" else f"appsettings.{name}.json")
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def load(folder: Path, **environ: str) -> LoadedSettings:
    return load_settings(folder=folder, environ=environ)


def refused(folder: Path, **environ: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, **environ)
    assert all("\n" not in line for line in caught.value.lines)
    return caught.value.lines


def test_without_any_file_the_defaults_hold(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert loaded.environment == "Development"
    assert loaded.values.search.candidates == 100
    assert loaded.warnings == ()


def test_fr_007_the_later_source_wins_key_by_key(tmp_path: Path) -> None:
    write(
        tmp_path,
        base={"Search": {"Candidates": 20, "K1": 1.0, "B": 0.1}},
        Development={"Search": {"Candidates": 30, "K1": 1.1}},
        Staging={"Search": {"Candidates": 99}},
    )
    search = load(tmp_path, Search__Candidates="40").values.search
    assert (search.candidates, search.k1, search.b) == (40, 1.1, 0.1)


def test_the_file_of_the_named_environment_is_read_and_no_other(tmp_path: Path) -> None:
    production = {
        "Security": {"SecretKey": "x" * 32, "AllowedHosts": ["rag.example.org"]},
        "ConnectionStrings": {"RagDatabase": "postgresql://prod/db"},
    }
    write(tmp_path, base={"Search": {"Candidates": 20}}, Development={"Search": {"B": 0.5}}, Production=production)
    loaded = load(tmp_path, RAGSITE_ENVIRONMENT="Production")
    assert (loaded.environment, loaded.is_development) == ("Production", False)
    assert loaded.values.search.b == 0.75
    database = loaded.values.connection_strings.rag_database
    assert database is not None
    assert database.get_secret_value() == "postgresql://prod/db"


def test_sc_003_another_connection_string_is_another_database(tmp_path: Path) -> None:
    for name in ("first", "second"):
        write(tmp_path, base={"ConnectionStrings": {"RagDatabase": f"postgresql://host/{name}"}})
        database = load(tmp_path).values.connection_strings.rag_database
        assert database is not None
        assert database.get_secret_value().endswith(name)


def test_a_null_in_a_later_file_takes_an_optional_value_back(tmp_path: Path) -> None:
    write(
        tmp_path,
        base={"ConnectionStrings": {"Broker": "redis://a"}},
        Development={"ConnectionStrings": {"Broker": None}},
    )
    assert load(tmp_path).values.connection_strings.broker is None


@pytest.mark.parametrize("variable", ["Search__Candidates", "SEARCH__CANDIDATES", "search__candidates"])
def test_the_case_of_variables_does_not_matter(tmp_path: Path, variable: str) -> None:
    assert load(tmp_path, **{variable: "40"}).values.search.candidates == 40


def test_variables_outside_the_sections_are_ignored(tmp_path: Path) -> None:
    loaded = load(tmp_path, PATH="/bin", SEARCH="x", Searching__Candidates="x", __Search__Candidates="x", A__B="x")
    assert loaded == load(tmp_path)


@pytest.mark.parametrize(
    ("text", "hosts"), [("a, b ,,c", ("a", "b", "c")), ('["a", "b"]', ("a", "b")), ("", ()), ("one", ("one",))]
)
def test_a_list_in_the_environment_is_split_at_commas_or_json(
    tmp_path: Path, text: str, hosts: tuple[str, ...]
) -> None:
    assert load(tmp_path, Security__AllowedHosts=text).values.security.allowed_hosts == hosts


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    write(tmp_path, base=b'\xef\xbb\xbf{"Search": {"Candidates": 20}}')
    assert load(tmp_path).values.search.candidates == 20


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"Serch": {"Candidates": 1}}, "Serch"),
        ({"search": {"Candidates": 20}}, "search"),
        ({"Search": {"Candidate": 20}}, "Search:Candidate"),
        ({"Search": {"candidates": 20}}, "Search:candidates"),
        ({"Llm": {"Modell": "x"}}, "Llm:Modell"),
        ({"Retention": {"QueryLog": 1}}, "Retention:QueryLog"),
    ],
)
def test_an_unknown_key_in_a_file_stops_the_start(tmp_path: Path, content: Any, place: str) -> None:
    write(tmp_path, base=content)
    (line,) = refused(tmp_path)
    assert line.startswith(f"{place}: ")
    assert line.endswith("remove it (appsettings.json).")


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("Search__Candidate", "Search:Candidate"),
        ("SEARCH__CANDIDATE", "Search:CANDIDATE"),
        ("search__", "Search:"),
        ("Search__Candidates__Deep", "Search:Candidates__Deep"),
        ("LLM__Modell", "Llm:Modell"),
        ("rerank__Model", "Rerank:Model"),
    ],
)
def test_an_unknown_variable_under_a_section_stops_the_start(tmp_path: Path, variable: str, place: str) -> None:
    (line,) = refused(tmp_path, **{variable: "1"})
    assert line.startswith(f"{place}: ")
    assert line.endswith(f"(environment variable {variable}).")


@pytest.mark.parametrize(
    ("content", "start"),
    [
        ({"Search": {"Candidates": "many"}}, "Search:Candidates: "),
        ({"Search": {"Candidates": 5}}, "Search:Candidates: "),
        ({"Search": {"Candidates": 20.5}}, "Search:Candidates: "),
        ({"Search": {"QueryLog": "clear"}}, "Search:QueryLog: Input should be 'off', 'hashed', 'masked' or 'plain'"),
        ({"Search": {"QueryLog": False}}, "Search:QueryLog: "),
        ({"Retention": {"QueryLogDays": -1}}, "Retention:QueryLogDays: "),
        ({"Retention": {"QueryLogDays": 36_501}}, "Retention:QueryLogDays: "),
        ({"Retention": {"QueryLogDays": None}}, "Retention:QueryLogDays: "),
        ({"Search": {"UseHybridSearch": "maybe"}}, "Search:UseHybridSearch: "),
        ({"Search": 5}, "Search: must be a JSON object"),
        ({"Search": None}, "Search: must be a JSON object"),
        ({"VectorDatabase": {"Provider": "oracle"}}, "VectorDatabase:Provider: "),
        ({"Telemetry": {"LogLevel": "loud"}}, "Telemetry:LogLevel: "),
        ({"Security": {"AllowedHosts": [1]}}, "Security:AllowedHosts:0: "),
        ({"Ingestion": {"ChunkTokens": 20, "ChunkOverlapTokens": 11}}, "Ingestion:ChunkOverlapTokens: "),
        (b'{"Ingestion": {"ParseTimeoutSeconds": Infinity}}', "Ingestion:ParseTimeoutSeconds: "),
        (b'{"Search": {"B": NaN}}', "Search:B: "),
    ],
)
def test_a_bad_value_stops_the_start_with_its_place_and_origin(tmp_path: Path, content: Any, start: str) -> None:
    write(tmp_path, base=content)
    (line,) = refused(tmp_path)
    assert line.startswith(start)
    assert line.endswith("(appsettings.json).")


def test_the_origin_is_the_source_that_won(tmp_path: Path) -> None:
    write(tmp_path, base={"Search": {"Candidates": 1}}, Development={"Search": {"Candidates": 2}})
    assert refused(tmp_path)[0].endswith("(appsettings.Development.json).")
    assert refused(tmp_path, SEARCH__CANDIDATES="3")[0].endswith("(environment variable SEARCH__CANDIDATES).")


def test_a_chunk_size_below_the_default_overlap_is_refused_too(tmp_path: Path) -> None:
    """The chunker cannot work with an overlap as long as the chunk, given or not."""
    (line,) = refused(tmp_path, Ingestion__ChunkTokens="20")
    assert line.startswith("Ingestion:ChunkOverlapTokens: must be at most half of ChunkTokens")
    load(tmp_path, Ingestion__ChunkTokens="20", Ingestion__ChunkOverlapTokens="10")


def test_every_mistake_has_its_own_line(tmp_path: Path) -> None:
    write(tmp_path, base={"Search": {"Candidates": 1, "Nope": 2}, "Embedding": {"BatchSize": 0}, "Other": {}})
    assert {line.split(": ")[0] for line in refused(tmp_path)} == {
        "Search:Candidates",
        "Search:Nope",
        "Embedding:BatchSize",
        "Other",
    }


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"",
        b"[]",
        b'"x"',
        b"\xff\xfe{\x00}\x00",
        b"[" * 100_000,
        b'{"Search": {"Candidates": ' + b"9" * 5000 + b"}}",
    ],
    ids=["cut", "empty", "list", "string", "utf-16", "deep", "long number"],
)
def test_a_file_that_is_no_json_object_stops_the_start_with_its_name(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, base=content)
    (line,) = refused(tmp_path)
    assert line.startswith("appsettings.json: ")
    assert str(tmp_path) not in line


def test_malformed_json_names_line_and_column(tmp_path: Path) -> None:
    write(tmp_path, Development=b'{\n  "Search": ,\n}')
    assert refused(tmp_path)[0].startswith("appsettings.Development.json: not valid JSON at line 2, column 13: ")


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "..", "a.b", "x" * 65, "naïve"])
def test_an_environment_name_that_would_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (line,) = refused(tmp_path, RAGSITE_ENVIRONMENT=name)
    assert line.startswith("RAGSITE_ENVIRONMENT: ")


@pytest.mark.parametrize("word", ["true", "TRUE", "1", "yes", " Yes ", "\tyes\n"])
def test_b2_1_words_that_enable_hybrid_search(tmp_path: Path, word: str) -> None:
    loaded = load(tmp_path, USE_HYBRID_SEARCH=word)
    assert loaded.values.search.use_hybrid_search is True
    assert loaded.warnings == ()


@pytest.mark.parametrize("word", ["", "on", "enabled", "2", "yes please", "tru\u0435"])
def test_b2_4_any_other_word_means_meaning_alone_with_a_warning(tmp_path: Path, word: str) -> None:
    write(tmp_path, base={"Search": {"UseHybridSearch": True}})
    loaded = load(tmp_path, USE_HYBRID_SEARCH=word)
    assert loaded.values.search.use_hybrid_search is False
    (warning,) = loaded.warnings
    assert warning.startswith("USE_HYBRID_SEARCH")


@pytest.mark.parametrize("word", ["false", "0", "no", " False "])
def test_b2_2_words_that_disable_it_win_over_the_file(tmp_path: Path, word: str) -> None:
    write(tmp_path, base={"Search": {"UseHybridSearch": True}})
    assert load(tmp_path, USE_HYBRID_SEARCH=word).values.search.use_hybrid_search is False


def test_b2_4_with_the_key_removed_it_is_off(tmp_path: Path) -> None:
    write(tmp_path, base={"Search": {"Candidates": 20}})
    assert load(tmp_path).values.search.use_hybrid_search is False


def test_readme_9_use_hybrid_search_wins_over_the_section_in_the_environment(tmp_path: Path) -> None:
    assert load(tmp_path, Search__UseHybridSearch="false", USE_HYBRID_SEARCH="1").values.search.use_hybrid_search


PRODUCTION = {
    "RAGSITE_ENVIRONMENT": "Production",
    "Security__SecretKey": "k" * 32,
    "Security__AllowedHosts": "rag.example.org",
    "ConnectionStrings__RagDatabase": "postgresql://u:p@h/db",
}


def test_a_complete_production_configuration_starts(tmp_path: Path) -> None:
    assert load(tmp_path, **PRODUCTION).environment == "Production"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"Security__SecretKey": "k" * 31}, "Security:SecretKey"),
        ({"Security__SecretKey": ""}, "Security:SecretKey"),
        ({"Security__AllowedHosts": ""}, "Security:AllowedHosts"),
        ({"Security__AllowedHosts": "a,*"}, "Security:AllowedHosts"),
        ({"ConnectionStrings__RagDatabase": ""}, "ConnectionStrings:RagDatabase"),
        ({"ConnectionStrings__RagDatabase": "  "}, "ConnectionStrings:RagDatabase"),
    ],
)
def test_production_is_refused_without_what_it_needs(tmp_path: Path, change: dict[str, str], place: str) -> None:
    (line,) = refused(tmp_path, **{**PRODUCTION, **change})
    assert line.startswith(f"{place}: ")
    assert line.endswith("(environment Production)")


def test_production_with_nothing_lists_all_three(tmp_path: Path) -> None:
    places = [line.split(": ")[0] for line in refused(tmp_path, RAGSITE_ENVIRONMENT="Production")]
    assert places == ["Security:SecretKey", "Security:AllowedHosts", "ConnectionStrings:RagDatabase"]


def test_secrets_are_masked_and_the_rest_is_shown(tmp_path: Path) -> None:
    loaded = load(tmp_path, Security__SecretKey=SECRET, ConnectionStrings__RagDatabase=f"postgresql://u:{SECRET}@h/d")
    shown = masked(loaded.values)
    assert SECRET not in json.dumps(shown)
    assert shown["Security"]["SecretKey"] == shown["ConnectionStrings"]["RagDatabase"] == MASK
    assert shown["ConnectionStrings"]["Broker"] is None
    assert shown["Search"]["Candidates"] == 100
    assert SECRET not in repr(loaded)


KEYS = [
    "Security:SecretKey",
    "Security:AllowedHosts",
    "ConnectionStrings:RagDatabase",
    "Search:K1",
    "Telemetry:LogLevel",
]
VALUES = st.recursive(
    st.just(SECRET) | st.integers() | st.floats() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=5,
)


@given(key=st.sampled_from(KEYS), value=VALUES, in_environment=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
def test_no_message_ever_carries_a_value(tmp_path: Path, key: str, value: Any, in_environment: bool) -> None:
    section, name = key.split(":")
    content = {} if in_environment else {section: {name: value}}
    write(tmp_path, base=content)
    environ = {f"{section}__{name}": json.dumps(value)} if in_environment else {}
    lines: list[str] = []
    try:
        load_settings(folder=tmp_path, environ=environ)
    except ConfigurationError as error:
        lines = error.lines
    assert not [line for line in lines if SECRET in line or not line.startswith(key)]


def test_the_shipped_file_is_valid_and_enables_hybrid_search() -> None:
    """README 9: `Search:UseHybridSearch` is on in what we ship."""
    loaded = load_settings(folder=Path(__file__).resolve().parents[3], environ={})
    assert loaded.values.search.use_hybrid_search is True
    assert loaded.values.vector_database.provider == "pgvector"
