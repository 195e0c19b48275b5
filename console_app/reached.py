"""Collections to choose from: those alone on which somebody may do what is to be done with them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_permission_codename
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import RelatedDropdownFilter  # type: ignore[import-untyped]

from access_app.models import User
from collections_app.models import Collection
from collections_app.reach import reachable
from console_app.permissions import ABILITIES
from core_app.names import visible
from stores_app.attaching import ATTACHED


def collections_for(user: User | AnonymousUser, ability: str) -> QuerySet[Collection]:
    """The collections on which this user has the ability, by name."""
    return reachable(user, *ABILITIES[ability]).order_by("name")


def names_for(user: User | AnonymousUser, ability: str) -> list[str]:
    """The same as names, for a list to choose from."""
    return list(collections_for(user, ability).values_list("name", flat=True))


def names_to_fill(user: User | AnonymousUser, ability: str) -> list[str]:
    """The same without those whose documents another system holds: nothing can be put into them here."""
    return list(collections_for(user, ability).exclude(store=ATTACHED).values_list("name", flat=True))


class CollectionFilter(RelatedDropdownFilter):  # type: ignore[misc]  # django-unfold has no types
    """A list's rows by collection; the collections are those whose rows of this kind the user sees."""

    def has_output(self) -> bool:
        # Even where there is nothing to choose: Django applies no filter that it does not show.
        return True

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        opts = model_admin.opts
        permission = f"{opts.app_label}.{get_permission_codename('view', opts)}"
        found = reachable(request.user, permission).order_by("name").values_list("pk", "name")
        return [(key, visible(name)) for key, name in found]
