"""Segments of an emptied collection, out of sight until their postings are deleted; vectors go by a trigger."""

from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("stores", "0003_postings_follow_segments")]

    operations = [
        migrations.AddField(
            model_name="segment",
            name="retired",
            field=models.BooleanField(default=False, db_default=False),
        ),
        migrations.RunSQL(migration_sql("stores_app", "0004_retired_segments"), reverse_sql=migrations.RunSQL.noop),
    ]
