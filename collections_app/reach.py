"""The collections that a person reaches: the one place that limits rows to them."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from access_app.models import User
from access_app.patterns import named
from access_app.reach import patterns_of
from collections_app.models import Collection


def reachable(user: User | AnonymousUser, *permissions: str) -> QuerySet[Collection]:
    """The collections on which a user has all of these permissions, for Postgres to choose."""
    found = Collection.objects.all()
    for permission in permissions:
        found = found.filter(named("name", sorted(patterns_of(user, permission))))
    return found
