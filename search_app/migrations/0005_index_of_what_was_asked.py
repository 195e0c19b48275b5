"""What people and programs asked, for the figures by day; built beside searches."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('search', '0004_test_runs_in_the_log'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='querylog',
            index=models.Index(condition=models.Q(('is_test', False)), fields=['asked_at', 'id'], name='search_querylog_asked'),
        ),
    ]
