"""Each part of the word index says in which language its words are, and which version of the analysis gave them."""

from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("stores", "0007_exact_segment_length"), ("collections", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="segment",
            name="language",
            field=models.CharField(db_default="", max_length=32),
        ),
        migrations.AddField(
            model_name="segment",
            name="analysis",
            field=models.PositiveSmallIntegerField(db_default=1),
        ),
        migrations.RunSQL(migration_sql("stores_app", "0008_segment_language"), reverse_sql=migrations.RunSQL.noop),
    ]
