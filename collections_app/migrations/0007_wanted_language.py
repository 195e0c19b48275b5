"""The language that a collection's words are being indexed in anew."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("collections", "0006_search_settings")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="wanted_language",
            field=models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
    ]
