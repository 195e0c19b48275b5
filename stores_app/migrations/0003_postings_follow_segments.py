"""Postings go with their segments by a trigger instead of a foreign key that is checked row by row."""

from django.db import migrations

from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("stores", "0002_foreign_keys")]

    operations = [
        migrations.RunSQL(
            migration_sql("stores_app", "0003_postings_follow_segments"), reverse_sql=migrations.RunSQL.noop
        ),
    ]
