"""A filter written as JSON is read as the same filter."""

from __future__ import annotations

import json

from hypothesis import given

from core_app.where import Where, matches, parse_where, written
from tests.integration.collections.filters import TREES, documents

DOCUMENTS = documents(60)


@given(TREES)
def test_what_is_written_is_read_as_the_same_filter(where: Where) -> None:
    """Not always the same tree: a chain of one part is read as the part."""
    read = parse_where(json.loads(json.dumps(written(where))))
    for metadata, text in DOCUMENTS:
        assert matches(read, metadata=metadata, text=text) == matches(where, metadata=metadata, text=text)
