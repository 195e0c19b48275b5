"""What staff can do: through the services, with mistakes answered by sentences beside the form."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from access_app.models import ApiKey, User
from access_app.services import authenticate
from collections_app.models import Collection, Document
from core_app.errors import NotAuthenticated
from ingest_app.models import Item, Job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.integration.console.conftest import Login, Rows

pytestmark = pytest.mark.django_db

ADD_COLLECTION = "/admin/collections/collection/add/"
UPLOAD = "/admin/ingest/job/add/"
FORM = "application/x-www-form-urlencoded"


def test_a_collection_is_created_and_opened(root: Client) -> None:
    answer = root.post(ADD_COLLECTION, {"name": "handbook", "distance": "l2", "metadata": '{"team": "x"}'})
    made = Collection.objects.get()
    assert (made.name, made.distance, made.metadata) == ("handbook", "l2", {"team": "x"})
    assert answer["Location"] == f"/admin/collections/collection/{made.pk}/change/"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"name": "handbook"}, "already exists"),
        ({"name": "a/b"}, "no slash"),
        ({"name": ""}, "This field is required"),
        ({"name": "new", "distance": "hamming"}, "not one of the available choices"),
        ({"name": "new", "metadata": "{"}, "not valid JSON"),
        ({"name": "new", "metadata": "[1]"}, "Write a JSON object"),
        ({"name": "new", "metadata": '{"a": NaN}'}, "not a JSON number"),
        ({"name": "new", "metadata": '{"a": 1e999}'}, "number"),
        ({"name": "new", "metadata": '{"a": "\\u0000"}'}, "remove NUL"),
        ({"name": "new", "metadata": "[" * 100_000}, "nested"),
    ],
)
def test_a_collection_that_cannot_be_is_refused(root: Client, rows: Rows, data: dict[str, str], sentence: str) -> None:
    page = root.post(ADD_COLLECTION, {"distance": "cosine", **data})
    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert Collection.objects.count() == 1


def test_metadata_is_replaced_through_the_service(root: Client, rows: Rows) -> None:
    root.post(f"/admin/collections/collection/{rows.collection.pk}/change/", {"metadata": '{"b": 2}', "name": "other"})
    changed = Collection.objects.get()
    assert changed.metadata == {"b": 2}
    assert changed.name == "handbook"
    assert changed.version > rows.collection.version


def test_a_collection_goes_only_when_its_name_was_typed(root: Client, rows: Rows) -> None:
    path = f"/admin/collections/collection/{rows.collection.pk}/delete/"
    page = root.post(path, {"name": "Handbook"})
    assert b"not the collection&#x27;s name" in page.content
    assert Collection.objects.exists()
    assert root.post(path, {"name": "handbook"}).status_code == 302
    assert not Collection.objects.exists()
    assert not Document.objects.exists()


def test_a_document_is_deleted_with_its_chunks(root: Client, rows: Rows) -> None:
    root.post(f"/admin/collections/document/{rows.document.pk}/delete/")
    assert not Document.objects.exists()
    assert not rows.collection.chunks.exists()


def upload(client: Client, *names: str, collection: str = "handbook", metadata: str = "") -> str:
    files = [SimpleUploadedFile(name, b"# Title\n\nText.") for name in names]
    answer = client.post(UPLOAD, {"collection": collection, "metadata": metadata, "file": files})
    return str(answer["Location"]) if answer.status_code == 302 else answer.content.decode()


def test_uploaded_files_become_a_job_with_their_metadata(root: Client, rows: Rows) -> None:
    location = upload(root, "a.md", "b.md", metadata='{"team": "x"}')
    job = Job.objects.exclude(pk=rows.job.pk).get()
    assert location == f"/admin/ingest/job/{job.pk}/change/"
    assert [item.source for item in job.items.order_by("ordinal")] == ["a.md", "b.md"]
    assert {json.dumps(item.metadata) for item in job.items.all()} == {'{"team": "x"}'}


def test_the_default_collection_comes_into_being_with_its_first_upload(root: Client, rows: Rows) -> None:
    upload(root, "a.md", collection="content_chunks")
    assert Collection.objects.filter(name="content_chunks").exists()


def test_an_empty_file_does_not_stop_the_others(root: Client, rows: Rows) -> None:
    files = [SimpleUploadedFile("empty.md", b""), SimpleUploadedFile("a.md", b"text")]
    root.post(UPLOAD, {"collection": "handbook", "file": files})
    job = Job.objects.exclude(pk=rows.job.pk).get()
    assert job.items.count() == 2


def posted(root: Client, *parts: bytes) -> Any:
    body = b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"
    return root.post(UPLOAD, body, content_type="multipart/form-data; boundary=x")


def file_part(name: bytes) -> bytes:
    return b'Content-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\n# T\n\nwords'


COLLECTION = b'Content-Disposition: form-data; name="collection"\r\n\r\nhandbook'


def test_no_uploaded_file_is_lost_because_of_its_name(root: Client, rows: Rows) -> None:
    names = [b"a/README.md", b"b/README.md", b"\xfcber.md", b"..", b"..\\y.md", b"n" * 1100]
    assert posted(root, COLLECTION, *map(file_part, names)).status_code == 302
    job = Job.objects.latest("created_at")
    sources = list(Item.objects.filter(job=job).order_by("ordinal").values_list("source", flat=True))
    assert sources == ["a/README.md", "b/README.md", "über.md", "..", "..\\y.md", "n" * 1024]


def test_a_form_that_was_cut_off_is_refused_with_a_page(root: Client, rows: Rows) -> None:
    body = b"--x\r\n" + COLLECTION + b"\r\n--x\r\n" + file_part(b"a.md")
    answer = root.post(UPLOAD, body, content_type="multipart/form-data; boundary=x")
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert b"could not be read" in answer.content
    assert not Job.objects.filter(items__source="a.md").exists()


def test_uploads_that_cannot_be_are_refused_beside_the_form(root: Client, rows: Rows) -> None:
    assert "Choose at least one file." in upload(root)
    assert "Write a JSON object" in upload(root, "a.md", metadata="7")
    assert "not one of the available choices" in upload(root, "a.md", collection="nowhere")
    answer = root.post(
        UPLOAD, {"collection": "handbook", "file": SimpleUploadedFile("a.bin", b"\x00\x01\x02\xff" * 50)}
    )
    assert "Files of type .bin are not supported" in answer.content.decode()
    assert Job.objects.count() == 1


def test_a_job_is_cancelled_and_tried_again(root: Client, rows: Rows) -> None:
    path = f"/admin/ingest/job/{rows.job.pk}"
    assert root.get(f"{path}/cancel/").status_code == 405
    root.post(f"{path}/cancel/")
    assert Job.objects.get().state == Job.State.CANCELLED
    assert b"Retry what failed" in root.get(f"{path}/change/").content
    root.post(f"{path}/retry/")
    assert Job.objects.get().state == Job.State.QUEUED
    again = root.post(f"{path}/retry/", follow=True)
    assert b"The job has not ended yet" in again.content


def test_progress_says_nothing_without_news_and_stops_at_the_end(root: Client, rows: Rows) -> None:
    path = f"/admin/ingest/job/{rows.job.pk}/progress/"
    first = root.get(path)
    seen = first.context["seen"]
    assert first.status_code == 200
    assert b'hx-trigger="every 1s"' in first.content
    assert root.get(path, {"seen": seen}).status_code == 204
    Item.objects.update(state=Item.State.SUCCEEDED, chunks=3)
    assert root.get(path, {"seen": seen}).status_code == 200
    Job.objects.update(state=Job.State.SUCCEEDED, finished_at=timezone.now())
    last = root.get(path, {"seen": seen})
    assert last.status_code == 286
    assert b"hx-trigger" not in last.content
    assert b"1 file: 1 indexed." in last.content


def test_progress_of_a_job_that_is_gone_stops_the_polling(root: Client, rows: Rows) -> None:
    rows.collection.delete()
    assert root.get(f"/admin/ingest/job/{rows.job.pk}/progress/").status_code == 286


def test_a_key_shows_its_secret_once_and_works_until_revoked(root: Client) -> None:
    made = root.post(
        "/admin/access/apikey/add/", {"name": "Bot", "verbs": ["search", "read"], "collections": "team-*\nhandbook\n"}
    )
    secret = str(made.context["secret"])
    key = ApiKey.objects.get()
    assert made.content.decode().count(secret) == 1
    assert "no-store" in made["Cache-Control"]
    assert (key.verbs, key.collections) == (["read", "search"], ["team-*", "handbook"])
    assert authenticate(presented=secret).name == "Bot"
    for path in ("/admin/access/apikey/", f"/admin/access/apikey/{key.pk}/change/"):
        assert secret not in root.get(path).content.decode()
    root.post(f"/admin/access/apikey/{key.pk}/revoke/")
    with pytest.raises(NotAuthenticated):
        authenticate(presented=secret)
    assert b"Revoked" in root.get(f"/admin/access/apikey/{key.pk}/change/").content


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"verbs": []}, "Choose at least one"),
        ({"collections": " \n"}, "This field is required"),
        ({"expires_on": "2001-01-01"}, "This day is over"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_a_key_that_allows_nothing_is_refused(root: Client, data: dict[str, object], sentence: str) -> None:
    page = root.post("/admin/access/apikey/add/", {"name": "x", "verbs": ["read"], "collections": "*", **data})
    assert sentence in page.content.decode()
    assert not ApiKey.objects.exists()


def test_nothing_is_done_without_the_csrf_token(rows: Rows, root: Client) -> None:
    strict = Client(headers={"host": "127.0.0.1"}, enforce_csrf_checks=True)
    strict.force_login(User.objects.get())
    for path in (
        ADD_COLLECTION,
        UPLOAD,
        f"/admin/collections/collection/{rows.collection.pk}/delete/",
        f"/admin/ingest/job/{rows.job.pk}/cancel/",
        f"/admin/access/apikey/{rows.key.pk}/revoke/",
    ):
        answer = strict.post(path, {"name": "handbook"})
        assert answer.status_code == 403, path
        assert "load the page again" in answer.content.decode()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/admin/nowhere/", 404),
        ("/admin/collections/collection/999999/change/", 404),
        ("/admin/?x=%00", 400),
        ("/admin/access/user/", 403),
    ],
)
def test_pages_that_refuse_are_kept_by_no_cache(login: Login, path: str, status: int) -> None:
    answer = login("collections.view_collection").get(path)
    assert answer.status_code == status
    assert "no-store" in answer["Cache-Control"]


def test_a_form_with_too_many_fields_is_told_so(root: Client) -> None:
    answer = root.post("/admin/access/apikey/add/", urlencode({f"f{n}": "" for n in range(1_001)}), FORM)
    assert answer.status_code == 413
    assert "more than 1,000 fields" in answer.content.decode()


def test_a_password_is_changed(root: Client) -> None:
    user = User.objects.get()
    data = {"usable_password": "true", "password1": "another long one 7", "password2": "another long one 7"}
    assert root.post(f"/admin/access/user/{user.pk}/password/", data).status_code == 302
    user.refresh_from_db()
    assert user.check_password("another long one 7")


def test_queries_that_cannot_be_are_refused_beside_the_form(root: Client, rows: Rows) -> None:
    def page(**data: str) -> str:
        answer = root.get("/admin/collections/collection/query/", {"collection": "handbook", "query": "x", **data})
        assert answer.status_code == 200
        return answer.content.decode()

    assert "Write a query of 1 to 4000 characters." in page(query="  ")
    assert "Write a query of 1 to 4000 characters." in page(query="x" * 4001)
    assert "greater than or equal to 1" in page(top_k="0")
    assert "less than or equal to 1" in page(min_score="1.5")
    assert "not one of the available choices" in page(collection="nowhere")


def test_a_query_without_answer_says_so(root: Client, rows: Rows) -> None:
    answer = root.get("/admin/collections/collection/query/", {"collection": "handbook", "query": "ducks"})
    assert "No passage found" in answer.content.decode()


def test_a_query_is_explained(root: Client, rows: Rows) -> None:
    """C-REQ-001, B6.4: with the mode and the filter that were chosen, and what they came to."""

    def page(**data: str) -> str:
        answer = root.get("/admin/collections/collection/query/", {"collection": "handbook", **data})
        assert answer.status_code == 200
        return answer.content.decode()

    job = submit(collection_name="handbook", sources=[Source(name="ducks.md", content=b"Ducks swim.")])
    run_job(job_id=job.pk, stopping=lambda: False)
    found = page(query="ducks", mode="fast")
    assert "ordered by ranks" in found
    assert '<mark class="rs-mark">Ducks</mark> swim.' in found
    assert "Why it is here" in found
    assert "How it was searched" in found
    nothing = page(query="ducks", where='{"source": "nothing"}')
    assert "No passage passes the filter." in nothing
    assert "&quot;source&quot; is &quot;nothing&quot;" in nothing
    assert "must be valid JSON" in page(query="x", where="{")
    assert "not one of the available choices" in page(query="x", mode="slow")


@pytest.mark.parametrize("page", ["settings", "chunking", "language"])
def test_who_may_only_look_sees_settings_that_are_no_inputs(login: Login, rows: Rows, page: str) -> None:
    address = f"/admin/collections/collection/{rows.collection.pk}/{page}/"
    viewer = login("collections.view_collection").get(address).content.decode()
    assert '<fieldset class="rs-fields" disabled>' in viewer
    assert "You see these settings and cannot change them." in viewer
    form = viewer.partition("<form method")[2].partition("</form>")[0]
    outside = re.sub(r'(?s)<fieldset class="rs-fields" disabled>.*?</fieldset>', "", form)
    assert not re.search(r"<(textarea|select)|<input (?!type=\"hidden\")", outside)
    operator = login("collections.view_collection", "collections.change_collection").get(address).content.decode()
    assert " disabled>" not in operator.partition("<form method")[2].partition("</form>")[0]
    assert "You see these settings" not in operator
