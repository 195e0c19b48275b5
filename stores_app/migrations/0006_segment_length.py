"""Segments remember how long they were when they were written: deleted chunks cost a merge as much as others."""

import django.db.models
from django.db import migrations

from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("stores", "0005_posting_blocks")]

    operations = [
        migrations.AddField(
            model_name="segment",
            name="length",
            field=django.db.models.BigIntegerField(default=0, db_default=0),
        ),
        migrations.RunSQL(migration_sql("stores_app", "0006_segment_length"), reverse_sql=migrations.RunSQL.noop),
    ]
