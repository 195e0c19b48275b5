"""Groups and users that were there before keep all collections."""

from django.db import migrations

from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("access", "0002_reach_and_audit")]

    operations = [
        migrations.RunSQL(
            migration_sql("access_app", "0003_reach_of_those_there"), reverse_sql=migrations.RunSQL.noop
        )
    ]
