"""Jobs that import a file and that copy a collection; items know when they were worked on. Reads no row of the items."""

import django.db.models.deletion
from django.db import migrations, models

from core_app.migrating import lock_tables
from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [
        ("collections", "0010_named_filters"),
        ("ingest", "0006_rewording"),
    ]

    operations = [
        lock_tables("ingest_job", "ingest_item"),
        migrations.AddField("item", "started_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("item", "finished_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("job", "options", models.JSONField(blank=True, null=True)),
        migrations.AlterField(
            "job",
            "kind",
            models.CharField(
                choices=[
                    ("ingest", "Ingest"),
                    ("sync", "Sync"),
                    ("rechunk", "Cut anew"),
                    ("reword", "Index words"),
                    ("empty", "Empty"),
                    ("index", "Vector index"),
                    ("reclaim", "Reclaim space"),
                    ("import", "Import"),
                    ("copy", "Copy"),
                ],
                default="ingest",
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            "job",
            models.UniqueConstraint(
                condition=models.Q(finished_at__isnull=True, kind="import"),
                fields=("collection",),
                name="job_one_import",
            ),
        ),
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("ordinal", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="parts",
                        to="ingest.job",
                    ),
                ),
            ],
            options={"ordering": ("ordinal",)},
        ),
        migrations.AddConstraint(
            "uploadpart", models.UniqueConstraint(fields=("job", "ordinal"), name="uploadpart_job_ordinal")
        ),
        migrations.RunSQL(
            migration_sql("ingest_app", "0007_imports_copies_and_times"), reverse_sql=migrations.RunSQL.noop
        ),
    ]
