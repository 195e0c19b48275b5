"""Jobs that move collections, one at a time for each."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('collections', '0010_named_filters'),
        ('ingest', '0007_imports_copies_and_times'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('ingest', 'Ingest'), ('sync', 'Sync'), ('rechunk', 'Cut anew'), ('reword', 'Index words'), ('empty', 'Empty'), ('index', 'Vector index'), ('reclaim', 'Reclaim space'), ('import', 'Import'), ('copy', 'Copy'), ('move', 'Move')], default='ingest', max_length=16),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True), ('kind', 'move')), fields=('collection',), name='job_one_move'),
        ),
    ]
