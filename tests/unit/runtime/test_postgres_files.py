"""Tuning, passwords and addresses of the embedded database."""

from __future__ import annotations

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from ragsite.runtime.folders import UnableToStart
from ragsite.runtime.postgres import DatabaseAddress
from ragsite.runtime.postgres_files import (
    check_version,
    passwords,
    plain_environment,
    programs,
    tuning,
)

GIGABYTE = 1024**3


def settings(memory: int, *, for_tests: bool = False) -> dict[str, str]:
    text = tuning(memory=memory, sockets=Path("/tmp/it's"), for_tests=for_tests)
    return dict(line.split(" = ", 1) for line in text.splitlines())


@pytest.mark.parametrize(
    ("memory", "buffers"), [(GIGABYTE // 8, "64MB"), (4 * GIGABYTE, "1024MB"), (64 * GIGABYTE, "2048MB")]
)
def test_shared_buffers_are_a_quarter_of_the_memory_and_at_most_2_gb(memory: int, buffers: str) -> None:
    assert settings(memory)["shared_buffers"] == buffers


def test_it_listens_on_no_network_and_its_socket_is_private() -> None:
    found = settings(GIGABYTE)
    assert found["listen_addresses"] == "''"
    assert found["unix_socket_permissions"] == "0700"
    assert found["unix_socket_directories"] == "'/tmp/it''s'"


def test_req_rag_sec_004_its_log_quotes_no_statement() -> None:
    """What failed is logged, what somebody looked for with it is not."""
    assert settings(GIGABYTE)["log_min_error_statement"] == "panic"


def test_only_tests_run_without_fsync() -> None:
    assert "fsync" not in settings(GIGABYTE)
    assert settings(GIGABYTE, for_tests=True)["fsync"] == "off"
    assert settings(64 * GIGABYTE, for_tests=True)["shared_buffers"] == "128MB"


def test_the_url_survives_libpq_with_any_password_and_folder() -> None:
    address = DatabaseAddress(user="ragsite", password="p@ss/w:rd?&", database="ragsite", sockets=Path("/tmp/a b"))
    assert conninfo_to_dict(address.url) == {
        "user": "ragsite",
        "password": "p@ss/w:rd?&",
        "dbname": "ragsite",
        "host": "/tmp/a b",
        "port": "5432",
    }
    assert "p@ss" not in repr(address)


def test_passwords_are_made_once_and_kept_private(tmp_path: Path) -> None:
    first = passwords(tmp_path / "file", cluster_exists=False)
    assert passwords(tmp_path / "file", cluster_exists=True) == first
    assert first.superuser != first.application
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert first.superuser not in repr(first)


def test_a_database_without_its_passwords_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnableToStart, match="backup"):
        passwords(tmp_path / "file", cluster_exists=True)


def test_a_folder_of_another_major_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "PG_VERSION").write_text("17\n", encoding="ascii")
    with pytest.raises(UnableToStart, match="Postgres 17"):
        check_version(tmp_path)


def test_libpqs_variables_do_not_reach_the_server() -> None:
    assert plain_environment({"PGHOST": "x", "LANG": "de_DE", "HOME": "/root"}) == {
        "HOME": "/root",
        "LC_ALL": "C",
    }


def test_the_package_still_brings_the_programs_we_use() -> None:
    assert {"postgres", "initdb"} <= {path.name for path in programs().iterdir()}
