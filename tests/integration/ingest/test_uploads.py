"""Multipart uploads: every part of a form becomes an item or is refused, whatever it is called."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from collections_app.services import create_collection
from ingest_app.models import Job
from ingest_app.work import run_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def guide() -> str:
    return create_collection(name="guides").name


def work_off(answer: Any, client: Client) -> Any:
    """Run the job that an answer named, and return it as the API then shows it."""
    assert answer.status_code in (200, 202), answer.content
    job = Job.objects.get(pk=answer.json()["id"])
    run_job(job_id=job.pk, stopping=lambda: False)
    return client.get(f"/api/rag/jobs/{job.pk}").json()


def form(*parts: bytes) -> bytes:
    return b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + b"--x--\r\n"


def file_part(name: bytes, content: bytes = b"# T\n\nwords") -> bytes:
    return b'Content-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\n' + content


@pytest.mark.parametrize(
    ("name", "source", "state", "code"),
    [
        (b"\xfcber.md", "über.md", "succeeded", ""),
        ("über.md".encode(), "über.md", "succeeded", ""),
        (b"n" * 1100 + b".md", "n" * 1024, "failed", "invalid_source"),
        (b"", "", "failed", "invalid_source"),
        (b"a%22b.md", 'a"b.md', "succeeded", ""),
    ],
)
def test_no_file_of_an_upload_is_lost_because_of_its_name(
    client: Client, guide: str, name: bytes, source: str, state: str, code: str
) -> None:
    address = f"/api/rag/collections/{guide}/documents"
    body = form(file_part(b"good.md"), file_part(name))
    job = work_off(client.post(address, body, "multipart/form-data; boundary=x"), client)
    good, other = job["items"]
    assert (good["source"], good["state"]) == ("good.md", "succeeded")
    assert (other["source"], other["state"], other.get("code") or "") == (source, state, code)


def test_the_empty_file_field_of_a_browser_s_form_is_no_file(client: Client, guide: str) -> None:
    address = f"/api/rag/collections/{guide}/documents"
    body = form(file_part(b"good.md"), file_part(b"", b""))
    job = work_off(client.post(address, body, "multipart/form-data; boundary=x"), client)
    assert [item["source"] for item in job["items"]] == ["good.md"]


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (b"X-Nothing: here\r\n\r\ntext", "malformed_form"),
        (b'Content-Disposition: form-data; name="file"\r\n\r\ntext', "invalid"),
        (b'Content-Disposition: form-data; name="other"\r\n\r\ntext', "invalid"),
        (b'Content-Disposition: form-data; name="file"; filename="a.md\\"\r\n\r\ntext', "malformed_form"),
        (b'Content-Disposition: form-data; name="file"; filename=a b.md\r\n\r\ntext', "malformed_form"),
        (b'Content-Disposition: form-data; name="file"; filename="a"; filename="b"\r\n\r\ntext', "malformed_form"),
        (
            b'Content-Disposition: form-data; name="file"; filename="a"\r\n'
            b'Content-Disposition: form-data; name="file"; filename="b"\r\n\r\ntext',
            "malformed_form",
        ),
        (
            b'Content-Disposition: form-data; name="file"; filename="a.md"\r\n'
            b"Content-Transfer-Encoding: base64\r\n\r\nIyBB",
            "malformed_form",
        ),
        (b'Content-Disposition: form-data; name="metadata"\r\n\r\n{"a": "caf\xe9"}', "malformed_form"),
        (b'Content-Disposition: form-data; name=""\r\n\r\ntext', "invalid"),
    ],
)
def test_a_part_that_is_not_understood_is_refused_and_not_left_out(
    client: Client, guide: str, part: bytes, code: str
) -> None:
    address = f"/api/rag/collections/{guide}/documents"
    answer = client.post(address, form(file_part(b"good.md"), part), "multipart/form-data; boundary=x")
    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"--y\r\n" + file_part(b"lost.md") + b"\r\n" + form(file_part(b"kept.md")), 400),
        (form(file_part(b"kept.md")) + b"--x\r\n" + file_part(b"lost.md") + b"\r\n--x--\r\n", 400),
        (form(file_part(b"kept.md"))[:-20], 400),
        (form(*[b'Content-Disposition: form-data; name="metadata"\r\n\r\n{}'] * 2, file_part(b"kept.md")), 400),
        (form(*[b'Content-Disposition: form-data; name="f"\r\n\r\nx'] * 2000), 413),
        (form(b"A: " + b"x" * 20_000 + b"\r\n\r\ntext"), 413),
        (b"\r\n" + form(file_part(b"kept.md")), 202),
        (form(file_part(b"kept.md"))[:-2], 202),
    ],
)
def test_what_stands_around_the_parts_is_no_part_that_may_be_lost(
    client: Client, guide: str, body: bytes, status: int
) -> None:
    answer = client.post(f"/api/rag/collections/{guide}/documents", body, "Multipart/Form-Data; boundary=x")
    assert answer.status_code == status, answer.content


def test_metadata_of_a_form_is_sent_once(client: Client, guide: str) -> None:
    field = b'Content-Disposition: form-data; name="metadata"\r\n\r\n{}'
    address = f"/api/rag/collections/{guide}/documents"
    answer = client.post(address, form(field, field, file_part(b"a.md")), "multipart/form-data; boundary=x")
    assert answer.json()["detail"].startswith("metadata: send it once")


@pytest.mark.parametrize("sent", ["docs/a.md", "..", "n" * 300 + ".md", "C:\\tmp\\x.md", "&amp;.md", "ünï ☃.md"])
def test_an_upload_s_source_is_its_name_as_sent(client: Client, guide: str, sent: str) -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="'
        + sent.encode()
        + b'"\r\n\r\n# T\n\nwords\r\n--x--\r\n'
    )
    answer = client.post(
        f"/api/rag/collections/{guide}/documents", body, content_type="multipart/form-data; boundary=x"
    )
    assert answer.status_code == 202, answer.content
    assert [item["source"] for item in answer.json()["items"]] == [sent]


def test_files_of_one_base_name_in_two_folders_are_two_documents(client: Client, guide: str) -> None:
    parts = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s/README.md"\r\n\r\n# T\n\nwords\r\n' % folder
        for folder in (b"a", b"b")
    )
    answer = client.post(
        f"/api/rag/collections/{guide}/documents", parts + b"--x--\r\n", "multipart/form-data; boundary=x"
    )
    job = work_off(answer, client)
    assert {item["source"]: item["state"] for item in job["items"]} == {
        "a/README.md": "succeeded",
        "b/README.md": "succeeded",
    }
