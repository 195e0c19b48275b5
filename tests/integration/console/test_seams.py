"""What falls between the parts of the console: reach and names, histories and edits, two people at one page."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from access_app.audit import record
from access_app.models import AuditEntry, User
from access_app.services import create_key
from collections_app.coverage import chunks_without_vectors
from collections_app.disabling import set_disabled
from collections_app.filters import save_filter
from collections_app.models import Alias, Chunk, Collection, NamedFilter
from collections_app.services import create_collection, update_metadata
from console_app import filters_admin, home_parts
from console_app.collections_admin import CollectionAdmin
from console_app.home_parts import coverage_rows
from core_app.errors import InvalidInput
from core_app.where.parsing import decode_where
from search_app.judging import Judged
from search_app.models import TestCase, TestRun
from search_app.testcases import save_case
from tests.integration.console.conftest import Login, Rows
from tests.integration.ingest.filling import ingest

pytestmark = pytest.mark.django_db


@pytest.fixture
def tea() -> Collection:
    made = create_collection(name="team-tea")
    ingest("team-tea", "# Tea\n\nOolong is a tea.")
    return made


def settings_of(client: Client, row: Collection) -> dict[str, Any]:
    """What the form of the settings sends where nothing was changed."""
    page = client.get(f"/admin/collections/collection/{row.pk}/settings/")
    found = page.context["found"]
    return {
        "seen": found.seen,
        "name": row.name,
        "description": "",
        "aliases": "\n".join(Alias.objects.filter(collection=row).values_list("name", flat=True)),
        "mode": "",
        "fusion": "",
    }


def test_a_user_is_made_in_the_console(root: Client) -> None:
    assert "id_username" in root.get("/admin/access/user/add/").content.decode()
    secret = "a long password 7"
    fields = {"username": "ada", "password1": secret, "password2": secret, "usable_password": "true"}
    assert root.post("/admin/access/user/add/", fields).status_code == 302
    assert User.objects.get(username="ada").check_password(secret)


def test_other_names_are_within_reach_too(login: Login, tea: Collection) -> None:
    client = login("collections.view_collection", "collections.change_collection", collections=["team-*"])
    address = f"/admin/collections/collection/{tea.pk}/settings/"
    assert client.post(address, {**settings_of(client, tea), "aliases": "legal"}).status_code == 200
    assert not Alias.objects.exists()
    assert client.post(address, {**settings_of(client, tea), "aliases": "team-oolong"}).status_code == 302
    Alias.objects.create(name="hr", collection=tea)
    assert client.post(address, {**settings_of(client, tea), "aliases": ""}).status_code == 200
    assert set(Alias.objects.values_list("name", flat=True)) == {"hr", "team-oolong"}


def test_the_history_of_a_chunk_outlives_its_row(root: Client, tea: Collection) -> None:
    chunk = Chunk.objects.get(collection=tea)
    for disabled in (True, False):
        chunk = set_disabled(collection_name="team-tea", external_id=chunk.external_id, disabled=disabled)
    page = root.get(f"/admin/collections/chunk/{chunk.pk}/history/").content.decode()
    assert page.count("rs-audit__entry") == 2


def test_what_is_disabled_is_not_missing(tea: Collection) -> None:
    chunk = Chunk.objects.get(collection=tea)
    set_disabled(collection_name="team-tea", external_id=chunk.external_id, disabled=True)
    tea.refresh_from_db()
    assert [row.without_vectors for row in coverage_rows([tea])] == [0]
    assert chunks_without_vectors(collection=tea, after=0, limit=5) == []


def test_a_change_within_a_list_is_a_change(tea: Collection) -> None:
    before = AuditEntry.objects.count()
    record("collection.metadata_changed", tea, before={"a": [1]}, after={"a": [True]})
    record("collection.metadata_changed", tea, before={"a": [1]}, after={"a": [1]})
    assert AuditEntry.objects.count() == before + 1


def test_another_question_is_recorded_and_forgets_what_was_found(tea: Collection) -> None:
    judged = [Judged(external_id=Chunk.objects.get(collection=tea).external_id, grade=1)]
    given: dict[str, Any] = {"collection_name": "team-tea", "name": "a", "judgements": judged, "saved_by": "ada"}
    case = save_case(**given, query="oolong")
    TestRun.objects.create(case=case, ran_by="ada")
    save_case(**given, query="oolong", replace=True)
    assert TestRun.objects.count() == 1
    save_case(**given, query="green tea", replace=True)
    assert TestRun.objects.count() == 0
    entry = AuditEntry.objects.filter(action="testcase.saved").latest("id")
    assert (entry.before, entry.after) == ({"query": "oolong"}, {"query": "green tea"})
    for number in (float("nan"), 5.0, -1.0):
        with pytest.raises(InvalidInput):
            save_case(**given, query="oolong", replace=True, expected=number)
    assert TestCase.objects.get().expected is None


def test_whoever_saves_second_is_told(root: Client, tea: Collection) -> None:
    page = f"/admin/collections/collection/{tea.pk}/change/"
    seen = root.get(page).context["seen"]
    settings = settings_of(root, tea)
    update_metadata(name="team-tea", metadata={"owner": "B", "description": "Theirs"})
    answer = root.post(page, {"metadata": '{"x": 2}', "seen": seen})
    assert "changed meanwhile" in answer.content.decode()
    answer = root.post(f"/admin/collections/collection/{tea.pk}/settings/", {**settings, "mode": "fast"})
    assert "changed meanwhile" in answer.content.decode()
    tea.refresh_from_db()
    assert (tea.metadata, tea.search) == ({"owner": "B", "description": "Theirs"}, {})


def test_a_filter_that_was_changed_meanwhile_stays(root: Client, tea: Collection) -> None:
    save_filter(collection_name="team-tea", name="f", where={"a": 1})
    page = f"/admin/collections/collection/{tea.pk}/filters/"
    seen = root.get(f"{page}?name=f").context["seen"]
    save_filter(collection_name="team-tea", name="f", where={"a": 2})
    fields = {"before": "f", "name": "f", "description": "", "where": json.dumps({"a": 3}), "seen": seen}
    assert "changed meanwhile" in root.post(page, fields).content.decode()
    fields["seen"] = root.get(f"{page}?name=f").context["seen"]
    assert root.post(page, fields).status_code == 302


def test_what_changes_between_the_look_and_the_lock_is_not_overwritten(
    root: Client, tea: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, settings = f"/admin/collections/collection/{tea.pk}/change/", settings_of(root, tea)
    seen, found = root.get(page).context["seen"], CollectionAdmin.found

    def found_and_changed(*args: Any) -> Any:
        row = found(*args)
        Collection.objects.filter(pk=tea.pk).update(metadata={"owner": "B"}, search={"fusion": "rrf"})
        return row

    monkeypatch.setattr(CollectionAdmin, "found", found_and_changed)
    assert "changed meanwhile" in root.post(page, {"metadata": '{"x": 2}', "seen": seen}).content.decode()
    Collection.objects.filter(pk=tea.pk).update(metadata={}, search={})
    answer = root.post(f"/admin/collections/collection/{tea.pk}/settings/", {**settings, "mode": "fast"})
    assert "changed meanwhile" in answer.content.decode()
    tea.refresh_from_db()
    assert (tea.metadata, tea.search) == ({"owner": "B"}, {"fusion": "rrf"})


def test_a_filter_that_changes_while_it_is_read_stays(
    root: Client, tea: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_filter(collection_name="team-tea", name="f", where={"a": 1})
    page = f"/admin/collections/collection/{tea.pk}/filters/"
    seen = root.get(f"{page}?name=f").context["seen"]

    def read_and_changed(text: str) -> Any:
        save_filter(collection_name="team-tea", name="f", where={"a": 2})
        return decode_where(text)

    monkeypatch.setattr(filters_admin, "decode_where", read_and_changed)
    fields = {"before": "f", "name": "f", "description": "", "where": json.dumps({"a": 3}), "seen": seen}
    assert "changed meanwhile" in root.post(page, fields).content.decode()
    assert NamedFilter.objects.get().where == {"a": 2}


@pytest.mark.parametrize(
    "path",
    [
        "access/auditentry/?before=" + "9" * 4_400,
        "access/auditentry/?collection=%00",
        "collections/collection/?name=%00",
        "collections/collection/filters/fields/?collection=%00",
        "ingest/job/?kind__exact=%00",
        "search/querylog/?collection=%00",
    ],
)
def test_no_address_is_an_error_of_the_server(root: Client, rows: Rows, path: str) -> None:
    assert root.get(f"/admin/{path}").status_code in {200, 302, 400}


def test_a_key_gives_no_more_than_its_maker_has(login: Login) -> None:
    maker = login("access.add_apikey", "collections.add_collection", "collections.change_collection", "ingest.add_job")
    fields = {"name": "app", "verbs": ["write"], "collections": "*", "expires_on": ""}
    assert "Your account cannot give this" in maker.post("/admin/access/apikey/add/", fields).content.decode()
    create_key(name="other", verbs=["write"], collections=["*"])  # a command of the server's own may


def test_rerankers_that_are_not_there_are_not_offered(root: Client, tea: Collection) -> None:
    page = root.get("/admin/collections/collection/query/").content.decode()
    options = re.findall(r'<option value="(?:cross-encoder|llm)"[^>]*>[^<]*', page)
    assert len(options) == 4  # of A and B
    assert all("disabled" in option and "title=" in option for option in options)


def test_a_collection_says_what_stands_in_its_metadata(root: Client, tea: Collection) -> None:
    page = root.get(f"/admin/collections/collection/{tea.pk}/fields/").content.decode()
    assert "<bdi>section</bdi>" in page
    assert "Counted in 1 chunk." in page
    assert "fields/" in root.get(f"/admin/collections/collection/{tea.pk}/change/").content.decode()


def test_a_database_that_fails_is_not_taken_for_a_slow_one(tea: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(**_asked: Any) -> dict[int, int]:
        raise OperationalError("the connection is gone")

    monkeypatch.setattr(home_parts, "count_without_vectors", lost)
    with pytest.raises(OperationalError):
        coverage_rows([tea])
