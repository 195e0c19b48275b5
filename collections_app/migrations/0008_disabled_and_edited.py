"""Chunks can be disabled and edited. Reads no row, and waits for nobody while others wait behind it."""

import django.db.models.deletion
from django.db import migrations, models

from core_app.migrating import lock_tables
from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("collections", "0007_wanted_language")]

    operations = [
        lock_tables("collections_chunk", "collections_generation"),
        migrations.AddField("chunk", "disabled_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("chunk", "edited_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("chunk", "original_text", models.TextField(blank=True, null=True)),
        migrations.CreateModel(
            name="KeptVector",
            fields=[
                (
                    "chunk",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="kept_vector",
                        serialize=False,
                        to="collections.chunk",
                    ),
                ),
                ("numbers", models.BinaryField()),
                (
                    "generation",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="collections.generation",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(
            migration_sql("collections_app", "0008_disabled_and_edited"), reverse_sql=migrations.RunSQL.noop
        ),
    ]
