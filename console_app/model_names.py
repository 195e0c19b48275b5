"""What the console calls models and the columns of their lists, in the language of the request.

Set here and not in the models: there Django would write a name into a migration whenever it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.apps import apps
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

#: The name of one and of several.
NAMES: Mapping[str, tuple[Promise, Promise]] = MappingProxyType(
    {
        "access.ApiKey": (_("API key"), _("API keys")),
        "collections.Collection": (_("collection"), _("collections")),
        "collections.Document": (_("document"), _("documents")),
        "collections.Chunk": (_("chunk"), _("chunks")),
        "connections.Connection": (_("connection"), _("connections")),
        "ingest.Connector": (_("connector"), _("connectors")),
        "ingest.Job": (_("job"), _("jobs")),
        "search.TestCase": (_("test case"), _("test cases")),
    }
)
FIELDS: Mapping[str, Promise] = MappingProxyType(
    {
        "collections.Collection.name": _("name"),
        "collections.Document.collection": _("collection"),
        "collections.Chunk.collection": _("collection"),
        "connections.Connection.name": _("name"),
        "ingest.Connector.collection": _("collection"),
        "ingest.Job.collection": _("collection"),
        "search.TestCase.collection": _("collection"),
        "search.TestCase.name": _("name"),
        "search.QueryLog.mode": _("mode"),
        "access.ApiKey.name": _("name"),
        "access.ApiKey.prefix": _("prefix"),
        "access.ApiKey.last_used_at": _("last used at"),
        "access.ApiKey.expires_at": _("expires at"),
    }
)


def name_models() -> None:
    """Give every model and field its name."""
    for label, (one, several) in NAMES.items():
        about = apps.get_model(label)._meta
        about.verbose_name, about.verbose_name_plural = one, several
    for path, name in FIELDS.items():
        label, _dot, field = path.rpartition(".")
        vars(apps.get_model(label)._meta.get_field(field))["verbose_name"] = name
