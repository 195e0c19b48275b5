"""Test cases, what people judged, and what runs of them found."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):

    dependencies = [
        ('collections', '0007_wanted_language'),
        ('search', '0002_status'),
    ]

    operations = [
        migrations.CreateModel(
            name='TestCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.TextField()),
                ('query', models.TextField()),
                ('topic', models.TextField(blank=True, default='')),
                ('where', models.JSONField(blank=True, null=True)),
                ('settings', models.JSONField(blank=True, default=dict)),
                ('expected', models.FloatField(blank=True, null=True)),
                ('saved_by', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('collection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='test_cases', to='collections.collection')),
            ],
            options={
                'ordering': ('name', 'id'),
            },
        ),
        migrations.CreateModel(
            name='Judgement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.TextField()),
                ('source', models.TextField(blank=True)),
                ('excerpt', models.TextField(blank=True)),
                ('grade', models.PositiveSmallIntegerField()),
                ('case', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='judgements', to='search.testcase')),
            ],
            options={
                'ordering': ('-grade', 'id'),
            },
        ),
        migrations.CreateModel(
            name='TestRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ran_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ran_by', models.TextField()),
                ('ndcg_at_10', models.FloatField(null=True)),
                ('hit', models.BooleanField(default=False)),
                ('first_rank', models.PositiveIntegerField(null=True)),
                ('mode', models.CharField(blank=True, max_length=16)),
                ('fusion', models.CharField(blank=True, max_length=16)),
                ('reranker', models.CharField(blank=True, max_length=16)),
                ('results', models.JSONField(default=list)),
                ('warnings', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None)),
                ('error', models.CharField(blank=True, max_length=64)),
                ('case', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='runs', to='search.testcase')),
            ],
            options={
                'ordering': ('-ran_at', '-id'),
            },
        ),
        migrations.AddConstraint(
            model_name='testcase',
            constraint=models.UniqueConstraint(fields=('collection', 'name'), name='testcase_collection_name'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.UniqueConstraint(fields=('case', 'external_id'), name='judgement_case_external_id'),
        ),
        migrations.AddIndex(
            model_name='testrun',
            index=models.Index(fields=['case', '-ran_at', '-id'], name='search_testrun_of_case'),
        ),
        migrations.RunSQL(migration_sql("search_app", "0003_test_cases"), reverse_sql=migrations.RunSQL.noop),
    ]
