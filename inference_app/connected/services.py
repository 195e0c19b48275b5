"""What connections to services over HTTP share: their settings, and what went wrong in our words."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any
from urllib.parse import urlsplit

from django.utils import timezone
from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr, field_validator

from core_app.errors import FarSideFailed, FarSideSlow, RagsiteError, Unavailable
from core_app.far_side import FarSide, FarSideError
from core_app.providers import ConnectionSettings, ProviderHealth

logger = logging.getLogger(__name__)

HEALTH_SECONDS = 5.0
#: That a service answers without a list of its models.
_NO_LIST = frozenset({404, 405, 501})


class ServiceSettings(ConnectionSettings):
    """How a service is reached."""

    url: str = Field(
        title=gettext_noop("Address"),
        description=gettext_noop("What its calls begin with, such as `https://api.openai.com/v1`."),
        pattern=r"^https?://[^\s/]+",
        max_length=2000,
    )
    api_key: SecretStr | None = Field(
        None, title=gettext_noop("API key"), description=gettext_noop("Empty where none is needed.")
    )
    model: str = Field(
        title=gettext_noop("Model"),
        description=gettext_noop("As the service names it."),
        min_length=1,
        max_length=200,
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        30.0, title=gettext_noop("Time limit"), description=gettext_noop("Seconds that one request may take.")
    )

    @field_validator("url")
    @classmethod
    def _holds_no_password(cls, value: str) -> str:
        if "@" in urlsplit(value).netloc:
            raise ValueError("must not hold a user or a password: an address is no secret")
        return value

    @property
    def key(self) -> str:
        """Empty where there is none."""
        return self.api_key.get_secret_value().strip() if self.api_key else ""


@contextmanager
def told(what: str) -> Iterator[None]:
    """What a service did, as an error of ours; `what` is its name at the beginning of a sentence."""
    try:
        yield
    except FarSideError as error:
        logger.warning("%s did not do what was asked: %s", what, error, extra={"status": error.status})
        raise _ours(error, what) from error


def _ours(error: FarSideError, what: str) -> RagsiteError:
    if error.is_slow:
        return FarSideSlow(f"{what} did not answer in time. Try again, or raise the connection's time limit.")
    if error.is_unreachable:
        return Unavailable(f"{what} cannot be reached. Check the connection's address.", code="far_side_unreachable")
    if error.status in {401, 403}:
        return FarSideFailed(f"{what} refused the connection's API key. Enter another.", code="far_side_refused")
    if error.status in {429, 503}:
        return Unavailable(f"{what} is busy, or its limits are used up. Try again later.", code="far_side_busy")
    if error.status in {400, 404, 405, 413, 422}:
        return FarSideFailed(
            f"{what} does not take the request. Check the connection's address and model, and that no text is longer "
            "than the model reads.",
            code="far_side_refused",
        )
    return FarSideFailed(f"{what} failed, or answered what cannot be read. The server's log has more.")


def tried_out(model: str, ask: Callable[[], Mapping[str, Any]]) -> ProviderHealth:
    """What a model answers, with the time that it took. `ask` gives further details."""
    began = time.perf_counter()
    now = timezone.now()
    try:
        found = ask()
    except RagsiteError as error:
        return ProviderHealth(is_healthy=False, checked_at=now, error=error.detail)
    took = round(1000 * (time.perf_counter() - began))
    return ProviderHealth(is_healthy=True, checked_at=now, details={"model": model, **found, "milliseconds": took})


def listing_health(far_side: FarSide, path: str, model: str, what: str) -> ProviderHealth:
    """Whether a service lists its models, which costs nothing; one without such a list is there, too."""
    now = timezone.now()
    try:
        with told(what):
            try:
                far_side.ask("GET", path, seconds=HEALTH_SECONDS, longest_wait=0.0, is_repeatable=False)
            except FarSideError as error:
                if error.status not in _NO_LIST:
                    raise
    except RagsiteError as error:
        return ProviderHealth(is_healthy=False, checked_at=now, error=error.detail)
    return ProviderHealth(is_healthy=True, checked_at=now, details={"model": model})
