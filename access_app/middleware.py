"""Opens the door for the audit log: whatever a request changes was done through it."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from access_app.acting import NOBODY, Door, acting


class ActorMiddleware:
    """People act through the console under their user's name; programs say who they are when their key is read."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/admin/"):
            with acting(door=Door.API):
                return self.get_response(request)
        with acting(door=Door.CONSOLE, name=lambda: request.user.get_username() or NOBODY):
            return self.get_response(request)
