"""Makes the groups of `roles.py` after migrations, and gives them what a release has added.

What was given is remembered for each group. So a permission that an administrator takes away stays away, while one
that a later release brings is given once. A group that was renamed is found by its row, one that was deleted is not
made again, and a group of the same name that was there before is somebody's own and is left alone.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.models import Group, Permission
from django.db import transaction

from access_app.audit import record
from access_app.models import BuiltInGroup, Reach
from access_app.roles import ROLES, permissions_of


def give_after_migrating(sender: AppConfig, using: str, apps: Any = None, **_: Any) -> None:
    """Listens to Django's post_migrate, which comes for each room once its permissions are there."""
    if apps is not None and ("access", "builtingroup") not in _models_of(apps):
        return  # migrated back to before there were any
    with transaction.atomic(using=using):
        for role in ROLES:
            given = [permission for permission in permissions_of(role) if permission.startswith(f"{sender.label}.")]
            if given:
                give(role=role, permissions=given)


def give(*, role: str, permissions: list[str]) -> None:
    """Give a built-in group those of these permissions that it was never given. Needs a transaction."""
    BuiltInGroup.objects.bulk_create([BuiltInGroup(role=role)], ignore_conflicts=True)
    held = BuiltInGroup.objects.select_for_update(of=("self",)).select_related("group").get(role=role)
    if held.group is None and held.given:
        return  # an administrator has deleted it
    new = [permission for permission in permissions if permission not in held.given]
    rows = {f"{row.content_type.app_label}.{row.codename}": row for row in _rows(new)}
    missing = sorted(set(new) - set(rows))
    if missing:
        raise LookupError(f"access_app/roles.py names permissions that no model has: {', '.join(missing)}")
    if not new:
        return
    group = held.group or _made(role)
    # No signals of single rows: what a release brings is one entry of the audit log.
    through = Group.permissions.through
    through._default_manager.bulk_create(
        [through(group_id=group.pk, permission_id=rows[name].pk) for name in new], ignore_conflicts=True
    )
    record("group.changed", group, after={"permissions_added": new})
    held.group, held.given = group, [*held.given, *new]
    held.save()


def _made(role: str) -> Group:
    """A new group, which reaches every collection until an administrator says less."""
    names = [role, f"{role} (Ragsite)", *(f"{role} (Ragsite {number})" for number in range(2, 100))]
    taken = set(Group.objects.filter(name__in=names).values_list("name", flat=True))
    [group] = Group.objects.bulk_create([Group(name=next(name for name in names if name not in taken))])
    Reach.objects.bulk_create([Reach(group=group, collections=["*"])])
    record("group.created", group, after={"name": group.name, "collections": ["*"]})
    return group


def _rows(names: list[str]) -> list[Permission]:
    codenames = [name.partition(".")[2] for name in names]
    labels = {name.partition(".")[0] for name in names}
    found = Permission.objects.select_related("content_type")
    return list(found.filter(codename__in=codenames, content_type__app_label__in=labels))


def _models_of(apps: Any) -> set[tuple[str, str]]:
    return {(model._meta.app_label, model._meta.model_name) for model in apps.get_models()}
