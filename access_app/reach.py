"""What a person reaches: each permission holds on the collections that whoever gave it reaches.

A permission given to a user directly holds on the user's own patterns, one of a group on the group's. Most models
belong to a collection; for those that do not, such as users and groups, patterns mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser, Permission
from django.db.models import Model

from access_app.models import User
from access_app.patterns import WHOLE_SERVER, reaches

if TYPE_CHECKING:
    #: Permission, as `app.codename`, to the patterns it holds on.
    Holdings = Mapping[str, frozenset[str]]

EVERYTHING = frozenset({"*"})
_CACHE = "_ragsite_holdings"
#: Models of these belong to no collection.
_APART = frozenset({"auth", "admin", "contenttypes", "sessions"})


def is_apart(permission: str) -> bool:
    """Whether the permission is about what belongs to no collection."""
    app, _, codename = permission.partition(".")
    return app in _APART or (app == "access" and codename.endswith("_user"))


def holdings(user: User) -> Holdings:
    """All permissions of a user with their patterns; read once for each user object, so once a request."""
    found: Holdings | None = vars(user).get(_CACHE)
    if found is None:
        found = vars(user)[_CACHE] = _holdings(user)
    return found


def patterns_of(user: User | AnonymousUser, permission: str) -> frozenset[str]:
    """Where a user has this permission; empty where nowhere."""
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    if user.is_superuser:
        return EVERYTHING
    return holdings(user).get(permission, frozenset())


def has_permission(user: User, permission: str, row: Any = None) -> bool:
    """Whether a user, no superuser, has this permission: on this row's collections, or without one anywhere at all."""
    held = holdings(user).get(permission)
    if held is None:
        return False
    if is_apart(permission):
        return True
    if row is None:
        return bool(held)
    names = names_of(row)
    return names is not None and all(reaches(held, name) for name in names)


def names_of(row: Any) -> tuple[str, ...] | None:
    """The collections that a row is about; a name stands for itself. None for what belongs to none, such as a user.

    A query or a key names several in `collections`. What is about the whole server needs a pattern for everything.
    """
    if isinstance(row, str):
        return (row,)
    if isinstance(row, User):
        return None
    several = getattr(row, "collections", None)
    if isinstance(several, list):
        return tuple(several) or (WHOLE_SERVER,)
    if isinstance(row, Model) and row._meta.label_lower == "collections.collection":
        return (str(row),)
    if not hasattr(row, "collection"):
        return None
    one = row.collection
    if one is None:
        return (WHOLE_SERVER,)
    return (one if isinstance(one, str) else str(one),)


def _holdings(user: User) -> Holdings:
    found: dict[str, set[str]] = {}
    given = Permission.objects.order_by()
    own = given.filter(user=user).values_list("content_type__app_label", "codename")
    for app, codename in own:
        found.setdefault(f"{app}.{codename}", set()).update(user.collections)
    grouped = given.filter(group__user=user).values_list(
        "content_type__app_label", "codename", "group__reach__collections"
    )
    for app, codename, patterns in grouped:
        found.setdefault(f"{app}.{codename}", set()).update(patterns or ())
    return {permission: frozenset(patterns) for permission, patterns in found.items()}
