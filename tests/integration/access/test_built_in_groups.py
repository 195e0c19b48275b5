"""The groups out of the box: made once, added to by releases, never against what an administrator did."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from access_app.built_in_groups import give
from access_app.models import AuditEntry, BuiltInGroup, Reach, User
from access_app.roles import ROLES, permissions_of


def names_of(group: Group) -> set[str]:
    return {f"{app}.{name}" for app, name in group.permissions.values_list("content_type__app_label", "codename")}


def migrate_again() -> None:
    call_command("migrate", verbosity=0)


@pytest.mark.django_db
def test_a_new_database_has_them_with_their_permissions() -> None:
    for role in ROLES:
        group = Group.objects.get(name=role)
        assert names_of(group) == set(permissions_of(role))
        assert group.reach.collections == ["*"]
    assert set(permissions_of("viewer")) < set(permissions_of("editor")) < set(permissions_of("operator"))


@pytest.mark.django_db
def test_the_table_names_permissions_that_exist() -> None:
    known = {f"{app}.{name}" for app, name in Permission.objects.values_list("content_type__app_label", "codename")}
    assert {name for role in ROLES for name in permissions_of(role)} <= known
    with pytest.raises(LookupError, match=r"collections\.fly"):
        give(role="viewer", permissions=["collections.fly"])


@pytest.mark.django_db
def test_what_an_administrator_changed_stays_and_what_a_release_brings_comes_once() -> None:
    viewer = Group.objects.get(name="viewer")
    taken = Permission.objects.get(codename="view_querylog")
    viewer.permissions.remove(taken)
    Reach.objects.filter(group=viewer).update(collections=["team-*"])
    Group.objects.filter(pk=viewer.pk).update(name="readers")
    Group.objects.get(name="editor").delete()
    # As if this release had brought the permission to see chunks.
    new = Permission.objects.get(codename="view_chunk")
    viewer.permissions.remove(new)
    held = BuiltInGroup.objects.get(role="viewer")
    held.given = [name for name in held.given if name != "collections.view_chunk"]
    held.save()
    migrate_again()
    readers = Group.objects.get(name="readers")
    assert names_of(readers) == set(permissions_of("viewer")) - {"search.view_querylog"}
    assert readers.reach.collections == ["team-*"]
    assert not Group.objects.filter(name__in=("viewer", "editor")).exists()
    last = AuditEntry.objects.filter(object_id=str(readers.pk), action="group.changed").first()
    assert last is not None
    assert last.after == {"permissions_added": ["collections.view_chunk"]}
    entries = AuditEntry.objects.count()
    migrate_again()
    assert AuditEntry.objects.count() == entries


@pytest.mark.django_db
def test_a_group_of_the_same_name_is_somebodys_own() -> None:
    Group.objects.all().delete()
    BuiltInGroup.objects.all().delete()
    own = Group.objects.create(name="viewer")
    Group.objects.create(name="viewer (Ragsite)")
    migrate_again()
    assert names_of(own) == set()
    made = BuiltInGroup.objects.get(role="viewer").group
    assert made is not None
    assert made.name == "viewer (Ragsite 2)"
    assert names_of(made) == set(permissions_of("viewer"))


@pytest.mark.django_db(transaction=True)
def test_groups_and_users_that_were_there_keep_everything() -> None:
    executor = MigrationExecutor(connection)
    latest = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "access"]
    try:
        executor.migrate([("access", "0001_initial")])
        old = executor.loader.project_state([("access", "0001_initial")]).apps
        group = old.get_model("auth", "Group").objects.create(name="staff")
        users = old.get_model("access", "User").objects
        given, plain = users.create(username="given"), users.create(username="plain")
        given.user_permissions.add(Permission.objects.get(codename="view_collection").pk)
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(latest)
    assert Reach.objects.get(group_id=group.pk).collections == ["*"]
    assert User.objects.get(pk=given.pk).collections == ["*"]
    assert User.objects.get(pk=plain.pk).collections == []
    assert User.objects.get(pk=given.pk).has_perm("collections.view_collection")
