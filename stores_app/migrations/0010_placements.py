"""Collections can be searched in other systems. Makes tables, touches none that is there."""

import django.db.models.deletion
from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):

    dependencies = [
        ('collections', '0010_named_filters'),
        ('connections', '0001_initial'),
        ('stores', '0009_segment_identity'),
    ]

    operations = [
        migrations.CreateModel(
            name='Leftover',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_there', models.TextField()),
                ('failures', models.PositiveIntegerField(db_default=0, default=0)),
                ('next_try_at', models.DateTimeField(blank=True, null=True)),
                ('connection', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='leftovers', to='connections.connection')),
            ],
        ),
        migrations.CreateModel(
            name='Placement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_there', models.TextField()),
                ('state', models.CharField(choices=[('filling', 'Being filled'), ('serving', 'Searched')], default='filling', max_length=16)),
                ('is_ours', models.BooleanField(default=False)),
                ('problem', models.TextField(blank=True, default='')),
                ('failures', models.PositiveIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(blank=True, null=True)),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('collection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='placements', to='collections.collection')),
                ('connection', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='placements', to='connections.connection')),
            ],
        ),
        migrations.CreateModel(
            name='Outgoing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('external_id', models.TextField(null=True)),
                ('refused', models.TextField(blank=True, db_default='', default='')),
                ('placement', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='outgoing', to='stores.placement')),
            ],
        ),
        migrations.AddConstraint(
            model_name='placement',
            constraint=models.UniqueConstraint(fields=('collection', 'state'), name='placement_collection_state'),
        ),
        migrations.AddConstraint(
            model_name='placement',
            constraint=models.UniqueConstraint(fields=('connection', 'name_there'), name='placement_connection_name'),
        ),
        migrations.AddIndex(
            model_name='outgoing',
            index=models.Index(condition=models.Q(('external_id__isnull', False), ('refused', '')), fields=['placement', 'id'], name='outgoing_waiting'),
        ),
        migrations.AddIndex(
            model_name='outgoing',
            index=models.Index(condition=models.Q(('external_id__isnull', True), models.Q(('refused', ''), _negated=True), _connector='OR'), fields=['placement'], name='outgoing_special'),
        ),
        migrations.AddConstraint(
            model_name="outgoing",
            constraint=models.UniqueConstraint(fields=("placement", "external_id"), name="outgoing_placement_chunk"),
        ),
        migrations.RunSQL(migration_sql("stores_app", "0010_placements"), reverse_sql=migrations.RunSQL.noop),
    ]
