"""Chunks know the range around them that a search shows. Reads no row, however many there are."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("collections", "0004_document_text")]

    operations = [
        migrations.AddField(model_name="chunk", name="parent_start", field=models.IntegerField(blank=True, null=True)),
        migrations.AddField(model_name="chunk", name="parent_end", field=models.IntegerField(blank=True, null=True)),
        # What is there has no parents; only new rows need the check.
        AddConstraintNotValid(
            model_name="chunk",
            constraint=models.CheckConstraint(
                name="chunk_parent",
                condition=models.Q(parent_start__isnull=True, parent_end__isnull=True)
                | models.Q(
                    parent_start__isnull=False,
                    parent_end__isnull=False,
                    parent_start__gte=0,
                    parent_end__gt=models.F("parent_start"),
                ),
            ),
        ),
    ]
