"""Indexes over what was changed by hand, and over documents by key. Built beside other writers, each again if need be.

Apart from the columns: whatever is built like this stands in no transaction, and may be cut off.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

CHANGED = models.Q(disabled_at__isnull=False) | models.Q(edited_at__isnull=False)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("collections", "0008_disabled_and_edited")]

    operations = [
        # What is left where this was cut off before.
        *(
            migrations.RunSQL(f"DROP INDEX IF EXISTS {name}", reverse_sql=migrations.RunSQL.noop)
            for name in ("chunk_document_marked", "chunk_disabled", "chunk_edited", "document_collection_id")
        ),
        AddIndexConcurrently(
            "chunk", models.Index(fields=["document"], name="chunk_document_marked", condition=CHANGED)
        ),
        AddIndexConcurrently(
            "chunk",
            models.Index(
                fields=["collection", "id"], name="chunk_disabled", condition=models.Q(disabled_at__isnull=False)
            ),
        ),
        AddIndexConcurrently(
            "chunk",
            models.Index(fields=["collection", "id"], name="chunk_edited", condition=models.Q(edited_at__isnull=False)),
        ),
        AddIndexConcurrently("document", models.Index(fields=["collection", "id"], name="document_collection_id")),
    ]
