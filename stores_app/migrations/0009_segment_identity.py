"""Segments can be told from all others, and their tombstones from all others of theirs: what was read is remembered."""

from django.contrib.postgres.functions import RandomUUID
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("stores", "0008_segment_language")]

    operations = [
        migrations.AddField(
            model_name="segment",
            name="identity",
            field=models.UUIDField(db_default=RandomUUID(), editable=False),
        ),
        migrations.AddField(
            model_name="segment",
            name="buried",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func("dead", function="sha256"),
                output_field=models.BinaryField(),
            ),
        ),
    ]
