"""Filters that are kept with a collection by name. Nothing that is stored already is touched."""

import django.db.models.deletion
from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("collections", "0009_indexes_of_what_was_changed")]

    operations = [
        migrations.CreateModel(
            name="NamedFilter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.TextField()),
                ("where", models.JSONField()),
                ("description", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "collection",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="named_filters",
                        to="collections.collection",
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(fields=("collection", "name"), name="namedfilter_collection_name")
                ],
            },
        ),
        migrations.RunSQL(migration_sql("collections_app", "0010_named_filters"), reverse_sql=migrations.RunSQL.noop),
    ]
