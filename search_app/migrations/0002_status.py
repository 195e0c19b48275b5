"""What became of each search: answered, answered with less, failed."""

from django.db import migrations, models

from core_app.sql import migration_sql

STATUSES = [("ok", "Answered"), ("degraded", "Degraded"), ("failed", "Failed")]


class Migration(migrations.Migration):
    dependencies = [("search", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="querylog",
            name="status",
            field=models.CharField(choices=STATUSES, db_default="ok", default="ok", max_length=8),
        ),
        migrations.AddField(
            model_name="querylog",
            name="error",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.RunSQL(migration_sql("search_app", "0002_status"), reverse_sql=migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="querylog",
            index=models.Index(
                condition=models.Q(("status", "ok"), _negated=True),
                fields=["asked_at", "id"],
                name="search_querylog_not_ok",
            ),
        ),
    ]
