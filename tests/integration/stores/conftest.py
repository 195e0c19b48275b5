from __future__ import annotations

import pytest

from tests.integration.stores.shelf import Shelf, new_shelf


@pytest.fixture
def shelf(db: None) -> Shelf:
    """A collection of vectors in the plane, compared by cosine."""
    return new_shelf()
