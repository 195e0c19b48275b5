"""Files taken out of archives; documents that are cut anew; tries that wait."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('collections', '0004_document_text'),
        ('ingest', '0003_jobs_without_items'),
    ]

    operations = [
        migrations.AddField(
            model_name='item',
            name='depth',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='item',
            name='origin',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='item',
            name='next_try_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='next_try_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('ingest', 'Ingest'), ('rechunk', 'Cut anew'), ('empty', 'Empty'), ('index', 'Vector index'), ('reclaim', 'Reclaim space')], default='ingest', max_length=16),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True), ('kind', 'rechunk')), fields=('collection',), name='job_one_rechunk'),
        ),
    ]
