"""Who is acting: set once at each door, read where a change is recorded."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Door(TextChoices):
    """How a change came in."""

    CONSOLE = "console", _("Console")
    API = "api", _("API")
    CLI = "cli", _("Command line")
    TASK = "task", _("Task")


#: Whoever asks without a key and without a user, as far as it is known.
NOBODY = "unknown"


@dataclass(kw_only=True)
class Actor:
    """Who acts at a door. The name is asked for when something is recorded: few requests change anything."""

    door: str
    name: str | Callable[[], str] = NOBODY
    #: Whether what this collection keeps may be listed to it; messages that help with a name ask for that.
    may_list: Callable[[str], bool] = lambda _collection: True

    def __str__(self) -> str:
        return self.name if isinstance(self.name, str) else self.name()


_acting: ContextVar[Actor | None] = ContextVar("ragsite_acting", default=None)


@contextmanager
def acting(*, door: str, name: str | Callable[[], str] = NOBODY) -> Iterator[Actor]:
    """Whatever is recorded within was done by this actor."""
    actor = Actor(door=door, name=name)
    token = _acting.set(actor)
    try:
        yield actor
    finally:
        _acting.reset(token)


def identify(name: str, *, may_list: Callable[[str], bool] | None = None) -> None:
    """Say who it is, once that is known, at a door that was opened before. Elsewhere it changes nothing."""
    actor = _acting.get()
    if actor is not None:
        actor.name = name
        actor.may_list = may_list or actor.may_list


def current() -> Actor:
    """Who acts now. Where no door was opened somebody runs our code on this machine: a command, a shell."""
    return _acting.get() or Actor(door=Door.CLI, name=f"cli:{_os_user()}")


def _os_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user has a number only
        return str(os.getuid())
