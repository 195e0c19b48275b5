"""Where a Chroma is, and how it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr, field_validator, model_validator

from connections_app.folders import allowed_path
from connections_app.providers.chroma_engine import Engine
from connections_app.providers.chroma_folder import ChromaFolder
from connections_app.providers.chroma_server import ChromaServer
from core_app.errors import InvalidInput
from core_app.providers import ConnectionSettings


class ChromaSettings(ConnectionSettings):
    """Where the Chroma is: exactly one of `folder` and `url`."""

    addresses: ClassVar[frozenset[str]] = frozenset({"url", "folder"})

    folder: str = Field(
        "",
        title=gettext_noop("Folder"),
        description=gettext_noop(
            "A name, for a folder of its own below the server's data folder, or a path below one of "
            "`Security:ConnectionFolders`. Empty where a server is asked."
        ),
        max_length=1000,
    )
    url: str = Field(
        "",
        title=gettext_noop("Address"),
        description=gettext_noop("Of a Chroma server, such as `http://chroma.example.org:8000`. Empty for a folder."),
        pattern=r"^(https?://[^\s/]+.*)?$",
        max_length=2000,
    )
    api_key: SecretStr | None = Field(
        None,
        title=gettext_noop("API key"),
        description=gettext_noop("Sent to a server as `x-chroma-token`; empty where none is needed."),
    )
    headers: Mapping[str, SecretStr] = Field(
        default_factory=dict,
        title=gettext_noop("Headers"),
        description=gettext_noop("Sent to a server with each request, such as those of a proxy."),
    )
    tenant: str = Field("default_tenant", title=gettext_noop("Tenant"), description=gettext_noop("Of a server."))
    database: str = Field("default_database", title=gettext_noop("Database"), description=gettext_noop("Of a server."))
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        30.0,
        title=gettext_noop("Time limit"),
        description=gettext_noop("Seconds that one request to a server may take."),
    )

    @field_validator("folder")
    @classmethod
    def _lies_where_it_may(cls, value: str) -> str:
        try:
            if value:
                allowed_path(value)
        except InvalidInput as error:
            raise ValueError(error.detail.rstrip(".")) from None
        return value

    @field_validator("url")
    @classmethod
    def _holds_no_password(cls, value: str) -> str:
        if "@" in urlsplit(value).netloc:
            raise ValueError("must not hold a user or a password: an address is no secret. Send them as a header")
        return value

    @model_validator(mode="after")
    def _is_one_of_two(self) -> ChromaSettings:
        if bool(self.folder) == bool(self.url):
            raise ValueError("Give either a folder or the address of a server")
        return self


def engine_of(settings: ChromaSettings) -> Engine:
    """What the settings lead to; nothing is opened yet."""
    if settings.folder:
        return ChromaFolder(allowed_path(settings.folder))
    headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
    if settings.api_key:
        headers["x-chroma-token"] = settings.api_key.get_secret_value()
    return ChromaServer(
        url=settings.url,
        headers=headers,
        tenant=settings.tenant,
        database=settings.database,
        timeout_seconds=settings.timeout_seconds,
    )
