"""Under which identity Postgres runs; the system's answers are given, nothing is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragsite.runtime.folders import UnableToStart
from ragsite.runtime.identity import Identity, candidates, unprivileged_identity

PROGRAM, FOLDER = Path("/programs/postgres"), Path("/data")


def choose(*, uid: int, working: tuple[str, ...]) -> Identity:
    return unprivileged_identity(
        program=PROGRAM,
        folder=FOLDER,
        environ={},
        effective_uid=uid,
        works=lambda identity, *_: identity.prefix[:1] == working,
    )


def test_an_ordinary_user_runs_it_directly() -> None:
    identity = choose(uid=1234, working=())
    assert (identity.prefix, identity.uid) == ((), 1234)


def test_root_prefers_a_user_namespace_in_which_the_files_stay_its_own() -> None:
    identity = choose(uid=0, working=("unshare",))
    assert identity.prefix[0] == "unshare"
    assert identity.uid == 0


def test_root_without_namespaces_becomes_an_existing_account_and_keeps_the_parent_death_signal() -> None:
    identity = choose(uid=0, working=("setpriv",))
    assert identity.uid != 0
    assert f"--reuid={identity.uid}" in identity.prefix
    assert "--clear-groups" in identity.prefix
    assert "--pdeathsig=INT" in identity.prefix


def test_root_is_refused_with_a_hint_where_nothing_works() -> None:
    with pytest.raises(UnableToStart, match="ordinary user") as refusal:
        choose(uid=0, working=("nothing",))
    assert "ConnectionStrings__RagDatabase" in str(refusal.value)


def test_no_candidate_is_root_itself_and_unknown_accounts_are_passed_over() -> None:
    found = list(candidates({"SUDO_USER": "root"}))
    assert all("--reuid=0" not in identity.prefix for identity in found)
    assert len(list(candidates({"SUDO_USER": "no such account"}))) == len(found)
