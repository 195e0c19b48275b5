"""The test cases of a collection for its copy: `core_app.wiring.copy_test_cases` finds this by its path."""

from __future__ import annotations

from django.db import connection

from core_app.sql import statement


def copy_test_cases(*, source_id: int, target_id: int) -> None:
    """Copy the cases with their judgements, which point to passages by the ids that these have in the copy, too."""
    with connection.cursor() as cursor:
        cursor.execute(statement("search_app", "clone_test_cases"), {"source": source_id, "target": target_id})
