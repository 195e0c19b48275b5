"""Jobs besides ingestion: emptying a collection, building its vector index, reclaiming space."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0002_foreign_keys")]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("ingest", "Ingest"),
                    ("empty", "Empty"),
                    ("index", "Vector index"),
                    ("reclaim", "Reclaim space"),
                ],
                default="ingest",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="collection",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="jobs",
                to="collections.collection",
            ),
        ),
        migrations.AddField("job", "attempts", models.PositiveIntegerField(default=0)),
        migrations.AddField("job", "again", models.BooleanField(default=False)),
        migrations.AddField("job", "seen_version", models.BigIntegerField(blank=True, null=True)),
        migrations.AddField("job", "step", models.TextField(blank=True, default=""), preserve_default=False),
        migrations.AddField("job", "total", models.BigIntegerField(default=0)),
        migrations.AddField("job", "done", models.BigIntegerField(default=0)),
        migrations.AddField("job", "result", models.JSONField(blank=True, null=True)),
        migrations.AddField("job", "error", models.TextField(blank=True, default=""), preserve_default=False),
        migrations.AddField(
            "job", "code", models.CharField(blank=True, default="", max_length=64), preserve_default=False
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at__isnull", True), ("kind", "index")),
                fields=("collection",),
                name="job_one_index",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at__isnull", True), ("kind", "reclaim")),
                fields=("kind",),
                name="job_one_reclaim",
            ),
        ),
    ]
