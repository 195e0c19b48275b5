"""Connectors, and jobs that read them."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):

    dependencies = [
        ('collections', '0004_document_text'),
        ('ingest', '0004_archives_and_rechunking'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='dry_run',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('ingest', 'Ingest'), ('sync', 'Sync'), ('rechunk', 'Cut anew'), ('empty', 'Empty'), ('index', 'Vector index'), ('reclaim', 'Reclaim space')], default='ingest', max_length=16),
        ),
        migrations.CreateModel(
            name='Connector',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('folder', 'Folder on the server'), ('git', 'Git repository'), ('urls', 'List of addresses')], max_length=16)),
                ('location', models.TextField(blank=True)),
                ('branch', models.TextField(blank=True)),
                ('urls', models.JSONField(blank=True, default=list)),
                ('prefix', models.TextField(blank=True)),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('remove_vanished', models.BooleanField(default=False)),
                ('every_seconds', models.PositiveIntegerField(blank=True, null=True)),
                ('next_run_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('origin', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('collection', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='connectors', to='collections.collection')),
            ],
            options={
                'ordering': ('created_at', 'id'),
            },
        ),
        migrations.AddField(
            model_name='job',
            name='connector',
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='jobs', to='ingest.connector', db_index=False),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(fields=['connector', '-created_at'], name='job_of_connector'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True), ('kind', 'sync')), fields=('connector',), name='job_one_sync'),
        ),
        migrations.AddConstraint(
            model_name='connector',
            constraint=models.UniqueConstraint(fields=('collection', 'origin'), name='connector_origin'),
        ),
        migrations.RunSQL(migration_sql("ingest_app", "0005_connectors"), reverse_sql=migrations.RunSQL.noop),
    ]
