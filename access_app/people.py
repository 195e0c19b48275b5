"""Changes of users and groups in the audit log, whoever makes them: the console's own forms, commands, a shell.

Django's admin log says which fields a form had; this says what they were and what they became, like every other entry.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_save

from access_app.audit import record
from access_app.models import Reach, User

_FIELDS = ("username", "first_name", "last_name", "email", "is_active", "is_staff", "is_superuser", "collections")
_BEFORE = "_ragsite_before"
_MANY = {
    User.groups.through: "groups",
    User.user_permissions.through: "permissions",
    Group.permissions.through: "permissions",
}


def listen() -> None:
    """Connect all of it; once, when the room is ready."""
    for model in (User, Group, Reach):
        uid = f"audit-{model.__name__}"
        pre_save.connect(_remember, sender=model, dispatch_uid=f"{uid}-before")
        post_save.connect(_saved, sender=model, dispatch_uid=f"{uid}-saved")
        post_delete.connect(_deleted, sender=model, dispatch_uid=f"{uid}-deleted")
    for through in _MANY:
        m2m_changed.connect(_related, sender=through, dispatch_uid=f"audit-{through.__name__}")


def _remember(instance: Model, raw: bool = False, update_fields: Any = None, **_: Any) -> None:
    """Keep what the row was until it is saved. A login only moves a date, and is no change."""
    if raw or update_fields == {"last_login"} or set(update_fields or ()) == {"last_login"}:
        vars(instance)[_BEFORE] = None
        return
    held = type(instance)._default_manager.filter(pk=instance.pk).first() if instance.pk else None
    vars(instance)[_BEFORE] = (held is None, None if held is None else _state(held), _secret(held))


def _saved(instance: Model, **_: Any) -> None:
    remembered = vars(instance).pop(_BEFORE, None)
    if remembered is None:
        return
    is_new, before, secret = remembered
    after = _state(instance)
    if not is_new and _secret(instance) != secret:
        after["password"] = "changed"  # noqa: S105 (says that it was, never what)
    with transaction.atomic():
        if isinstance(instance, Reach):
            record("group.changed", instance.group, before=before or {}, after=after)
        elif is_new:
            record(f"{_kind(instance)}.created", instance, after=after)
        else:
            record(f"{_kind(instance)}.changed", instance, before=before, after=after)


def _deleted(instance: Model, **_: Any) -> None:
    if not isinstance(instance, Reach):  # goes with its group
        record(f"{_kind(instance)}.deleted", instance, before=_state(instance))


def _related(instance: Model, action: str, model: type[Model], pk_set: set[Any] | None, sender: Any, **_: Any) -> None:
    """Groups and permissions given and taken away."""
    if action not in {"post_add", "post_remove", "pre_clear"}:
        return
    what = _MANY[sender]
    if not isinstance(instance, User | Group) or model is User:
        # From the other side, such as a group that is given users.
        for row in model._default_manager.filter(pk__in=pk_set or ()):
            record(f"{_kind(row)}.changed", row, **_change(action, what, [str(instance)]))
        return
    names = _names(
        model, getattr(instance, _field(instance, what)).values_list("pk", flat=True) if pk_set is None else pk_set
    )
    if names:
        record(f"{_kind(instance)}.changed", instance, **_change(action, what, names))


def _change(action: str, what: str, names: list[str]) -> dict[str, Any]:
    return {"after": {f"{what}_added": names}} if action == "post_add" else {"before": {f"{what}_removed": names}}


def _field(instance: Model, what: str) -> str:
    return "user_permissions" if isinstance(instance, User) and what == "permissions" else what


def _names(model: type[Model], keys: Any) -> list[str]:
    rows = model._default_manager.filter(pk__in=keys)
    if model is Group:
        return sorted(str(row) for row in rows)
    labels = rows.order_by().values_list("content_type__app_label", "codename")
    return sorted(f"{app}.{codename}" for app, codename in labels)


def _state(instance: Model) -> dict[str, Any]:
    if isinstance(instance, User):
        return {name: getattr(instance, name) for name in _FIELDS}
    return {"collections": list(instance.collections)} if isinstance(instance, Reach) else {"name": str(instance)}


def _secret(instance: Model | None) -> str:
    return instance.password if isinstance(instance, User) else ""


def _kind(instance: Model) -> str:
    return "user" if isinstance(instance, User) else "group"
