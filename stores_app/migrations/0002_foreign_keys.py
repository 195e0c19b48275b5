"""Foreign keys that act in SQL at once, instead of in Python at COMMIT."""

from django.db import migrations

from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("collections", "0002_foreign_keys"), ("stores", "0001_initial")]

    operations = [
        migrations.RunSQL(migration_sql("stores_app", "0002_foreign_keys"), reverse_sql=migrations.RunSQL.noop),
    ]
