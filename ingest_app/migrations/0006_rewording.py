"""Jobs that index a collection's words anew, in another language."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('collections', '0007_wanted_language'),
        ('ingest', '0005_connectors'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('ingest', 'Ingest'), ('sync', 'Sync'), ('rechunk', 'Cut anew'), ('reword', 'Index words'), ('empty', 'Empty'), ('index', 'Vector index'), ('reclaim', 'Reclaim space')], default='ingest', max_length=16),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True), ('kind', 'reword')), fields=('collection',), name='job_one_reword'),
        ),
    ]
