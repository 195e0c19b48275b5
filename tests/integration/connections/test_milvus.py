"""Milvus beside other programs and processes, and when it does not answer."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client

from core_app.errors import FarSideFailed, FarSideSlow, InvalidInput, NotFound, RagsiteError, Unavailable
from core_app.providers import HeldChunk
from core_app.where import Compare
from tests.contracts.conftest import milvus_address  # noqa: F401

pymilvus = pytest.importorskip("pymilvus", reason="the extra `milvus` is not installed")
import grpc  # type: ignore[import-untyped]  # noqa: E402 -- comes with the client
from milvus_lite.db import MilvusLite  # type: ignore[import-untyped]  # noqa: E402
from milvus_lite.server_manager import server_manager_instance  # type: ignore[import-untyped]  # noqa: E402

from connections_app.providers.milvus import MilvusProvider, MilvusSettings  # noqa: E402

JSON = "application/json"
VECTOR = np.ones(4, dtype=np.float32)
Filler = Callable[[Any], None]


def chunk(key: str, **metadata: Any) -> HeldChunk:
    return HeldChunk(id=key, text=f"text {key}", metadata=metadata, embedding=VECTOR)


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path
    path = tmp_path / "connections" / "milvus.db"
    path.parent.mkdir()
    return path


@pytest.fixture
def connected(folder: Path) -> Iterator[Callable[..., MilvusProvider]]:
    """Makes providers of the folder, which are closed after the test."""
    made: list[MilvusProvider] = []

    def make(**more: Any) -> MilvusProvider:
        made.append(MilvusProvider(MilvusSettings(**{"folder": folder.name, "timeout_seconds": 10} | more)))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def other_program(folder: Path) -> Callable[[Filler], None]:
    """Does something in the folder with Milvus's own client."""

    def run(fill: Filler) -> None:
        client = pymilvus.MilvusClient(str(folder))
        fill(client)
        client.close()
        server_manager_instance.release_server(str(folder))

    return run


def quick(client: Any) -> None:
    """As `create_collection` makes one by itself: numbers as keys, dynamic fields."""
    client.create_collection("quick", dimension=4, metric_type="L2")
    rows = [{"id": n, "vector": [float(n)] * 4, "text": f"t{n}", "n": n, "deep": {"a": [n]}} for n in range(30)]
    client.insert("quick", rows)


def langchain(client: Any) -> None:
    """Keys that Milvus gives, a text, no metadata."""
    schema = client.create_schema(auto_id=True, enable_dynamic_field=False)
    schema.add_field("pk", pymilvus.DataType.INT64, is_primary=True)
    schema.add_field("abstract", pymilvus.DataType.VARCHAR, max_length=1000)
    schema.add_field("source", pymilvus.DataType.VARCHAR, max_length=1000)
    schema.add_field("emb", pymilvus.DataType.FLOAT_VECTOR, dim=4)
    index = client.prepare_index_params()
    index.add_index("emb", index_type="HNSW", metric_type="IP", params={"M": 8, "efConstruction": 64})
    client.create_collection("chain", schema=schema, index_params=index)
    client.insert("chain", [{"abstract": f"b{n}", "source": f"s{n % 2}", "emb": [n, 0.0, 0.0, 1.0]} for n in range(10)])


def test_a_collection_of_another_program_is_read_and_searched(
    connected: Callable[..., MilvusProvider], other_program: Callable[[Filler], None]
) -> None:
    other_program(quick)
    provider = connected()
    (told,) = provider.list_collections(limit=None, offset=0).collections
    assert (told.name, told.distance, told.dimension, told.count) == ("quick", "l2", 4, 30)
    found = provider.get_chunk(name="quick", chunk_id="7", with_embedding=True)
    assert (found.text, dict(found.metadata)) == ("t7", {"n": 7, "deep": {"a": [7]}})
    page = provider.list_chunks(name="quick", where=Compare("n", "$gte", 20), limit=3, offset=1, with_embeddings=False)
    assert ([one.id for one in page.chunks], page.total) == (["21", "22", "23"], 10)
    (near,) = provider.nearest(
        name="quick", queries=np.full((1, 4), 9.2, dtype=np.float32), limit=2, where=Compare("n", "$ne", 9)
    )
    assert [one.chunk.id for one in near] == ["10", "8"]
    assert near[0].distance == pytest.approx(1.6, abs=1e-5)
    part = provider.scan(name="quick", after=None, limit=20)
    rest = provider.scan(name="quick", after=part.after, limit=20)
    assert [one.id for one in (*part.chunks, *rest.chunks)] == [str(n) for n in range(30)]
    for missing in ("x", "99", "1 or 1 == 1"):
        with pytest.raises(NotFound):
            provider.get_chunk(name="quick", chunk_id=missing, with_embedding=False)


def test_fields_are_named_where_they_cannot_be_guessed(
    connected: Callable[..., MilvusProvider], other_program: Callable[[Filler], None]
) -> None:
    other_program(langchain)
    with pytest.raises(InvalidInput, match="Several fields may hold the texts: abstract, source"):
        connected().get_collection(name="chain")
    provider = connected(text_field="abstract")
    found = provider.list_chunks(
        name="chain", where=Compare("source", "$eq", "s1"), limit=1, offset=0, with_embeddings=True
    )
    assert (found.total, found.chunks[0].text, dict(found.chunks[0].metadata)) == (5, "b1", {"source": "s1"})
    (near,) = provider.nearest(name="chain", queries=np.asarray([[1, 0, 0, 0]], dtype=np.float32), limit=1, where=None)
    assert (near[0].chunk.text, near[0].distance) == ("b9", -9.0)
    with pytest.raises(InvalidInput, match="no field 'nope'"):
        connected(text_field="nope").get_collection(name="chain")


def test_a_collection_of_another_program_is_not_changed(
    connected: Callable[..., MilvusProvider], other_program: Callable[[Filler], None]
) -> None:
    other_program(quick)
    provider = connected()
    calls: list[Callable[[], object]] = [
        lambda: provider.add(name="quick", chunks=[chunk("a")]),
        lambda: provider.change_chunk(name="quick", chunk_id="1", metadata={"a": 1}, text=None, embedding=None),
        lambda: provider.delete_chunks(name="quick", ids=["1"], where=None),
        lambda: provider.empty(name="quick"),
        lambda: provider.update_metadata(name="quick", metadata={}, merge=False),
    ]
    for call in calls:
        with pytest.raises(InvalidInput) as refused:
            call()
        assert refused.value.code == "collection_of_another_program"
    assert provider.get_collection(name="quick").count == 30


def test_two_providers_of_one_folder_take_turns(connected: Callable[..., MilvusProvider]) -> None:
    """A9.7: a job and a search each have their own."""
    one, other = connected(), connected()
    one.create_collection(name="shared", metadata={}, distance="cosine")

    def add(provider: MilvusProvider, start: int) -> None:
        for number in range(start, start + 10):
            provider.add(name="shared", chunks=[chunk(f"{number}")])

    threads = [threading.Thread(target=add, args=given) for given in ((one, 0), (other, 10), (one, 20))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert other.get_collection(name="shared").count == one.get_collection(name="shared").count == 30


def test_another_process_has_its_turn_and_then_this_one(connected: Callable[..., MilvusProvider], folder: Path) -> None:
    provider = connected()
    provider.create_collection(name="shared", metadata={}, distance="cosine")
    code = f"""
from pathlib import Path
import numpy as np
from connections_app.providers.milvus_folder import Folder
from connections_app.providers.milvus_collections import Shelf
folder = Folder(Path({str(folder)!r}), 20)
for number in range(5):
    with folder.opened() as calls:
        shelf = Shelf(calls, None)
        assert shelf.names() == ["shared"], shelf.names()
    print("turn", number, flush=True)
folder.close()
"""
    command = [sys.executable, "-c", "import django.conf; django.conf.settings.configure()\n" + code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    calls = 0
    while process.poll() is None:
        assert provider.get_collection(name="shared").count == 0
        calls += 1
    assert process.communicate()[0].count("turn") == 5
    assert process.returncode == 0
    assert calls


def test_a_folder_that_another_program_keeps_is_told(connected: Callable[..., MilvusProvider], folder: Path) -> None:
    database = MilvusLite(str(folder))
    provider = connected(timeout_seconds=0.2)
    with pytest.raises(Unavailable, match="in use by another process") as refused:
        provider.list_collections(limit=None, offset=0)
    assert refused.value.code == "far_side_busy"
    assert not provider.health_check().is_healthy
    database.close()
    assert provider.health_check().is_healthy


def test_closing_lets_go_of_lock_and_threads(connected: Callable[..., MilvusProvider], folder: Path) -> None:
    before = threading.active_count()
    for _ in range(3):
        provider = connected()
        provider.list_collections(limit=None, offset=0)
        provider.close()
        MilvusLite(str(folder)).close()
    assert threading.active_count() <= before


def test_what_is_no_folder_of_milvus_is_left_alone(connected: Callable[..., MilvusProvider], folder: Path) -> None:
    folder.write_bytes(b"SQLite format 3\x00")
    with pytest.raises(FarSideFailed, match="keeps a folder"):
        connected().list_collections(limit=None, offset=0)
    folder.unlink()
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(FarSideFailed, match="another program"):
        connected().list_collections(limit=None, offset=0)
    assert [one.name for one in folder.iterdir()] == ["mine.txt"]


class _Answers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """A server that answers each call alike."""

    def __init__(self, status: Any, seconds: float = 0) -> None:
        self.calls: list[str] = []
        self._status = status
        self._seconds = seconds

    def service(self, details: Any) -> Any:
        def answer(_: bytes, context: Any) -> bytes:
            self.calls.append(details.method.rpartition("/")[2])
            time.sleep(self._seconds)
            context.abort(self._status, "token abc at 10.0.0.1")
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


@pytest.fixture
def answering() -> Iterator[Callable[..., tuple[_Answers, MilvusProvider]]]:
    servers = []

    def start(status: Any, seconds: float = 0) -> tuple[_Answers, MilvusProvider]:
        handler = _Answers(status, seconds)
        server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[handler])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        url = f"http://127.0.0.1:{port}"
        return handler, MilvusProvider(MilvusSettings(url=url, token="abc", timeout_seconds=1))

    yield start
    for server in servers:
        server.stop(None)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, FarSideFailed, "far_side_refused"),
        (grpc.StatusCode.PERMISSION_DENIED, FarSideFailed, "far_side_refused"),
        (grpc.StatusCode.UNAVAILABLE, Unavailable, "far_side_unreachable"),
        (grpc.StatusCode.INTERNAL, FarSideFailed, "far_side_failed"),
    ],
)
def test_what_the_server_does_becomes_an_error_of_ours(
    answering: Callable[..., tuple[_Answers, MilvusProvider]], status: Any, kind: type[RagsiteError], code: str
) -> None:
    _, provider = answering(status)
    for call in (
        lambda: provider.list_collections(limit=None, offset=0),
        lambda: provider.create_collection(name="x", metadata={}, distance="l2"),
    ):
        with pytest.raises(kind) as refused:
            call()
        assert refused.value.code == code
        assert "abc" not in refused.value.detail
        assert "10.0.0.1" not in refused.value.detail
    health = provider.health_check()
    assert not health.is_healthy
    assert "abc" not in health.error


def test_nobody_there_is_unreachable() -> None:
    provider = MilvusProvider(MilvusSettings(url="http://127.0.0.1:9", timeout_seconds=1))
    with pytest.raises(Unavailable) as refused:
        provider.list_collections(limit=None, offset=0)
    assert refused.value.code == "far_side_unreachable"


def test_a_slow_server_is_given_up(answering: Callable[..., tuple[_Answers, MilvusProvider]]) -> None:
    _, provider = answering(grpc.StatusCode.INTERNAL, 5)
    with pytest.raises(FarSideSlow):
        provider.list_collections(limit=None, offset=0)


def test_more_than_one_page_of_rows_is_listed_scanned_and_deleted(connected: Callable[..., MilvusProvider]) -> None:
    provider = connected()
    provider.create_collection(name="many", metadata={}, distance="l2")
    keys = [f'{number} "{number}\\' for number in range(2500)]
    provider.add(name="many", chunks=[chunk(key, n=number) for number, key in enumerate(keys)])
    page = provider.list_chunks(name="many", where=Compare("n", "$ne", 3), limit=5, offset=1498, with_embeddings=False)
    assert ([one.id for one in page.chunks], page.total) == (keys[1499:1504], 2499)
    part = provider.scan(name="many", after=None, limit=1200)
    found = [one.id for one in part.chunks]
    while part.after is not None:
        part = provider.scan(name="many", after=part.after, limit=1200)
        found += [one.id for one in part.chunks]
    assert (sorted(found), len(found)) == (sorted(keys), 2500)
    (near,) = provider.nearest(
        name="many", queries=np.ones((1, 4), dtype=np.float32), limit=3, where=Compare("n", "$regex", "^x")
    )
    assert not near
    assert provider.delete_chunks(name="many", ids=None, where=Compare("n", "$gte", 10)) == 2490
    assert provider.get_collection(name="many").count == 10


def test_a_client_follows_what_another_one_does_on_a_server(milvus_address: str) -> None:  # noqa: F811
    """What it remembers of a collection is gone with it: its dimension, that it is in memory."""
    one, other = (MilvusProvider(MilvusSettings(url=milvus_address, timeout_seconds=10)) for _ in range(2))
    one.create_collection(name="followed", metadata={}, distance="l2")
    for dimension in (4, 3, 5):
        vector = np.ones(dimension, dtype=np.float32)
        for number, provider in enumerate((one, other)):
            added = HeldChunk(id=f"{number}", text="", metadata={}, embedding=vector)
            provider.add(name="followed", chunks=[added])
        for provider in (other, one):
            (near,) = provider.nearest(name="followed", queries=vector[None, :], limit=5, where=None)
            assert [found.chunk.id for found in near] == ["0", "1"]
        assert one.empty(name="followed") == 2
        assert other.get_collection(name="followed").count == 0
    other.delete_collection(name="followed")
    with pytest.raises(NotFound):
        one.add(name="followed", chunks=[chunk("a")])
    one.close()
    other.close()


@pytest.mark.django_db
def test_a_9_7_a_connection_to_a_folder_answers_over_http(client: Client, folder: Path) -> None:
    body = {"name": "lite", "provider": "milvus", "settings": {"folder": folder.name}}
    assert client.post("/api/connections", body, JSON).status_code == 201
    told = client.post("/api/connections/lite/test").json()
    assert (told["status"], told["details"]["sparse"]) == ("healthy", True)
    at = "/api/collections/docs{}?service=lite".format
    made = client.post("/api/collections?service=lite", {"name": "docs", "distance": "cosine"}, JSON)
    assert made.status_code == 201
    documents = [{"id": "a", "text": "x", "metadata": {"n": 1}, "embedding": [1.0, 0.0]}]
    assert client.post(at("/documents"), {"documents": documents}, JSON).status_code == 201
    found = client.post(at("/query"), {"query_embedding": [1.0, 0.0], "top_k": 3, "where": {"n": 1}}, JSON).json()
    assert [(one["id"], one["distance"]) for one in found["results"]] == [("a", 0.0)]
    refused = client.post(at("/documents"), {"documents": [{**documents[0], "embedding": [1.0]}]}, JSON)
    assert (refused.status_code, refused.json()["code"]) == (400, "dimension_not_possible")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"folder": "a", "url": "http://a:1"},
        {"url": "http://user:secret@a:1"},
        {"url": "ftp://a"},
        {"folder": "../../etc"},
        {"folder": "/etc/milvus"},
        {"url": "http://a:1", "token": "a", "user": "b"},
        {"folder": "a", "text_field": 'a" or 1'},
        {"folder": "a", "index": "IVF_FLAT"},
    ],
)
def test_settings_that_cannot_be_are_refused(folder: Path, given: Any) -> None:
    with pytest.raises(ValueError, match="validation error"):
        MilvusSettings(**given)


def test_the_console_has_a_form_for_the_settings() -> None:
    from console_app.connection_forms import ConnectionForm

    form = ConnectionForm({"name": "lite", "setting_folder": "a"}, model=MilvusSettings, shown={})
    assert {name for name in form.fields if name != "name"} == {
        f"setting_{name}" for name in MilvusSettings.model_fields
    }
