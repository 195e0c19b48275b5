"""The text of documents is kept, with how its passages were cut."""

import django.db.models.deletion
from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):

    dependencies = [
        ('collections', '0003_aliases_and_positions'),
    ]

    operations = [
        migrations.CreateModel(
            name='DocumentText',
            fields=[
                ('document', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='extracted', serialize=False, to='collections.document')),
                ('text', models.TextField()),
                ('outline', models.JSONField(default=dict)),
                ('source_digest', models.CharField(max_length=64)),
                ('given_title', models.TextField(blank=True)),
            ],
        ),
        migrations.RunSQL(migration_sql("collections_app", "0004_document_text"), reverse_sql=migrations.RunSQL.noop),
        migrations.AddField(
            model_name='document',
            name='cut_by',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name='document',
            name='origin',
            field=models.TextField(blank=True),
        ),
    ]
