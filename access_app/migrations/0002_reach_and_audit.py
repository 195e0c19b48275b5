"""What people reach, the built-in groups, and the audit log."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from core_app.sql import migration_sql


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0001_initial'),
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Reach',
            fields=[
                ('group', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='reach', serialize=False, to='auth.group')),
                ('collections', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=512), blank=True, default=list, size=None)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='user',
            name='collections',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=512), blank=True, default=list, size=None),
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('actor', models.TextField()),
                ('door', models.CharField(choices=[('console', 'Console'), ('api', 'API'), ('cli', 'Command line'), ('task', 'Task')], max_length=8)),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('action', models.CharField(max_length=64)),
                ('object_type', models.CharField(max_length=100)),
                ('object_id', models.CharField(blank=True, max_length=64)),
                ('object_name', models.TextField(blank=True)),
                ('collection', models.TextField(blank=True)),
                ('before', models.JSONField(null=True)),
                ('after', models.JSONField(null=True)),
                ('outcome', models.CharField(choices=[('done', 'Done'), ('failed', 'Failed')], default='done', max_length=8)),
            ],
            options={
                'verbose_name': 'audit entry',
                'verbose_name_plural': 'audit log',
                'ordering': ('-at', '-id'),
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['at', 'id'], name='audit_newest'), models.Index(fields=['object_type', 'object_id', 'at', 'id'], name='audit_of_object'), models.Index(fields=['collection', 'at', 'id'], name='audit_of_collection'), models.Index(fields=['actor', 'at', 'id'], name='audit_of_actor')],
            },
        ),
        migrations.CreateModel(
            name='BuiltInGroup',
            fields=[
                ('role', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('given', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), default=list, size=None)),
                ('group', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='built_in', to='auth.group')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.RunSQL(
            migration_sql("access_app", "0002_reach_and_audit"),
            reverse_sql="DROP TRIGGER audit_never_changes ON access_auditentry; DROP FUNCTION access_refuse_change()",
        ),
    ]
