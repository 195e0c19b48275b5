"""The connection that embeds for a collection."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("collections", "0010_named_filters")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="embedding_connection",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
    ]
