"""Other names of collections; an order of chunks that outlives replacing; system fields that filters can see."""

import django.db.models.deletion
from django.db import migrations, models

import collections_app.models
from core_app.sql import migration_sql


class Migration(migrations.Migration):
    dependencies = [("collections", "0002_foreign_keys")]

    operations = [
        migrations.CreateModel(
            name="Alias",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.TextField(unique=True)),
                (
                    "collection",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="alias_rows",
                        to="collections.collection",
                    ),
                ),
            ],
            options={"ordering": ("name",)},
        ),
        migrations.AddField(
            model_name="chunk",
            name="position",
            field=models.BigIntegerField(db_default=collections_app.models.NextPosition()),
        ),
        migrations.RunSQL(
            migration_sql("collections_app", "0003_aliases_and_positions"), reverse_sql=migrations.RunSQL.noop
        ),
        migrations.AddIndex(
            model_name="chunk",
            index=models.Index(fields=["collection", "position"], name="chunk_collection_position"),
        ),
    ]
