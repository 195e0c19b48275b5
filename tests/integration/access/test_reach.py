"""Patterns mean the same to Python and to Postgres, and permissions hold where their giver reaches."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access_app.models import ApiKey, Reach, User
from access_app.patterns import check_patterns, in_words, is_everything, named, reaches
from access_app.reach import has_permission
from access_app.services import Caller
from collections_app.models import Collection
from collections_app.reach import reachable
from collections_app.services import create_collection
from core_app.errors import InvalidInput
from ingest_app.models import Job
from search_app.models import QueryLog

pytestmark = pytest.mark.django_db

NAMES = [
    "a",
    "ab",
    "a*b",
    "a%b",
    "a_b",
    "axb",
    "A",
    "team-a",
    "team-",
    "Team-a",
    "100%",
    "a\\b",
    "ä-team",
    "x'y",
    "a b",
]
PATTERNS = [
    "*",
    "a",
    "a*",
    "*a",
    "a*b",
    "a%b",
    "a_b",
    "a\\b",
    "a\\*",
    "%",
    "_",
    "team-*",
    "*-*",
    "**",
    "*e*m*",
    "ä*",
    "x'*",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_postgres_reads_a_pattern_as_keys_do(pattern: str) -> None:
    # No service would make all of these names, and patterns must be right for any.
    Collection.objects.bulk_create(Collection(name=name, store="pgvector") for name in NAMES)
    found = set(Collection.objects.filter(named("name", [pattern])).values_list("name", flat=True))
    key = Caller(name="k", verbs=frozenset(), collections=(pattern,))
    assert found == {name for name in NAMES if key.reaches(name)}
    assert found == {name for name in NAMES if reaches([pattern], name)}


def test_several_patterns_reach_what_each_reaches_and_none_nothing() -> None:
    Collection.objects.bulk_create(Collection(name=name, store="pgvector") for name in NAMES)
    assert Collection.objects.filter(named("name", ["a", "team-*"])).count() == 3
    assert not Collection.objects.filter(named("name", [])).exists()


@pytest.mark.parametrize(
    ("held", "asked", "is_covered"),
    [
        ("*", "team-*", True),
        ("team-*", "*", False),
        ("team-*", "team-a*", True),
        ("team-a*", "team-*", False),
        ("*a*", "*ba*", True),
        ("a*b", "a*", False),
        ("a*b", "a*x*b", True),
        ("a", "a*", False),
    ],
)
def test_a_pattern_within_a_pattern(held: str, asked: str, is_covered: bool) -> None:
    assert reaches([held], asked) is is_covered


def test_patterns_in_words_and_checked() -> None:
    assert (in_words(["*"]), in_words([]), in_words(["a", "b*"])) == ("all collections", "no collection", "a, b*")
    assert is_everything(["a", "**"])
    assert not is_everything([""])
    assert check_patterns(["a", "a", "b*"]) == ["a", "b*"]
    for bad in ("", "x" * 513, "a\x00"):
        with pytest.raises(InvalidInput):
            check_patterns([bad])


def permission(name: str) -> Permission:
    app, codename = name.split(".")
    return Permission.objects.get(content_type__app_label=app, codename=codename)


def person(*, own: tuple[list[str], list[str]] = ([], []), groups: dict[str, tuple[list[str], list[str]]]) -> User:
    """Somebody with permissions on patterns, own ones and those of groups."""
    user = User.objects.create(username="jo", is_staff=True, collections=own[1])
    user.user_permissions.set([permission(name) for name in own[0]])
    for name, (permissions, patterns) in groups.items():
        group = Group.objects.create(name=name)
        Reach.objects.create(group=group, collections=patterns)
        group.permissions.set([permission(given) for given in permissions])
        user.groups.add(group)
    return User.objects.get(pk=user.pk)


def test_each_permission_holds_where_whoever_gave_it_reaches() -> None:
    tea, cake = create_collection(name="team-tea"), create_collection(name="cake")
    see, change, chunks = "collections.view_collection", "collections.change_collection", "collections.view_chunk"
    user = person(own=([chunks], ["cake"]), groups={"all": ([see], ["*"]), "tea": ([change, chunks], ["team-*"])})
    assert [user.has_perm(see, row) for row in (tea, cake)] == [True, True]
    assert [user.has_perm(change, row) for row in (tea, cake)] == [True, False]
    assert [user.has_perm(chunks, row) for row in (tea, cake)] == [True, True]
    assert user.has_perm(change)
    assert not user.has_perm("collections.delete_collection")
    assert user.has_perms([see, change], tea)
    assert user.get_all_permissions(cake) == {see, chunks}
    assert user.get_all_permissions() == {see, change, chunks}
    assert [row.name for row in reachable(user, see, change)] == ["team-tea"]
    assert [row.name for row in reachable(user, see)] == ["cake", "team-tea"]
    assert not reachable(user, "collections.delete_collection").exists()


def test_rows_lead_to_their_collections() -> None:
    tea, cake = create_collection(name="team-tea"), create_collection(name="cake")
    user = person(groups={"tea": (["ingest.view_job", "search.view_querylog", "access.view_apikey"], ["team-*"])})
    assert user.has_perm("ingest.view_job", Job(collection=tea))
    assert not user.has_perm("ingest.view_job", Job(collection=cake))
    assert not user.has_perm("ingest.view_job", Job(collection=None))
    assert has_permission(user, "ingest.view_job", "team-new")
    assert user.has_perm("search.view_querylog", QueryLog(collections=["team-tea", "team-x"]))
    assert not user.has_perm("search.view_querylog", QueryLog(collections=["team-tea", "cake"]))
    assert not user.has_perm("search.view_querylog", QueryLog(collections=[]))
    assert user.has_perm("access.view_apikey", ApiKey(collections=["team-a*"]))
    assert not user.has_perm("access.view_apikey", ApiKey(collections=["*"]))
    assert not has_permission(user, "ingest.view_job", object())


def test_no_patterns_reach_nothing_and_mean_nothing_to_users_and_groups() -> None:
    tea = create_collection(name="tea")
    user = person(own=(["collections.view_collection", "access.view_user", "auth.view_group"], []), groups={})
    assert not user.has_perm("collections.view_collection")
    assert not user.has_perm("collections.view_collection", tea)
    assert not reachable(user, "collections.view_collection").exists()
    assert user.has_perm("access.view_user")
    assert user.has_perm("auth.view_group")


def test_a_group_without_a_reach_reaches_nothing() -> None:
    user = person(groups={})
    group = Group.objects.create(name="new")
    group.permissions.add(permission("collections.view_collection"))
    user.groups.add(group)
    assert not User.objects.get(pk=user.pk).has_perm("collections.view_collection")


def test_superusers_reach_everything_and_the_inactive_nothing() -> None:
    tea = create_collection(name="tea")
    root = User.objects.create(username="root", is_superuser=True)
    assert root.has_perm("collections.view_collection", tea)
    assert reachable(root, "collections.view_collection").count() == 1
    gone = User.objects.create(username="gone", is_superuser=True, is_active=False)
    assert not gone.has_perm("collections.view_collection", tea)
    assert not reachable(gone, "collections.view_collection").exists()


def test_what_one_reaches_is_read_once() -> None:
    tea = create_collection(name="tea")
    user = person(groups={"all": (["collections.view_collection"], ["*"])})
    with CaptureQueriesContext(connection) as captured:
        for _ in range(3):
            assert user.has_perm("collections.view_collection", tea)
            reachable(user, "collections.view_collection")
    assert len(captured) == 2
