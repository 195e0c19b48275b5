"""What the requests to all reranking addresses have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core_app.api import StrictCharField, StrictSerializer

#: Of one request.
MOST_DOCUMENTS = 1000
LONGEST_QUERY = 4000


class QueryField(StrictCharField):
    """What the texts should answer."""

    def __init__(self, **more: Any) -> None:
        super().__init__(max_length=LONGEST_QUERY, **more)


class TextField(StrictCharField):
    """A text to score, as it is: of blanks or nothing, too."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **more)


class TolerantSerializer(StrictSerializer):
    """Leaves fields alone that it does not know, as the services do whose clients send this; null says nothing."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = ((name, value, self.fields[name]) for name, value in data.items() if name in self.fields)
            data = {name: value for name, value, field in known if value is not None or field.required}
        return super().to_internal_value(data)
