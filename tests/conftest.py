"""Fixtures of the tiers that use a database: one throwaway Postgres for the whole run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from django.test import Client

from ragsite.runtime.postgres import DatabaseAddress, EmbeddedPostgres

TEST_DATA = os.environ.get("RAGSITE_TEST_DATA", "")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseAddress]:
    """A running Postgres, gone after the run."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("postgres"), for_tests=True)
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres: DatabaseAddress) -> None:
    """Point Django at the throwaway server before pytest-django makes the test database."""
    connections["default"].settings_dict.update(
        NAME=postgres.database,
        USER=postgres.user,
        PASSWORD=postgres.password,
        HOST=str(postgres.sockets),
        PORT=str(postgres.port),
    )


@pytest.fixture
def client() -> Client:
    """A caller on this machine: needs no key in Development."""
    return Client(headers={"host": "127.0.0.1"})


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of retrieval sets and office files."""
    if not TEST_DATA or not Path(TEST_DATA).is_dir():
        pytest.skip("RAGSITE_TEST_DATA does not name the folder of test data")
    return Path(TEST_DATA)
