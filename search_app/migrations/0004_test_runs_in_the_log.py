"""Which rows of the query log are runs of test cases. The default is a constant: no row is written for it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('search', '0003_test_cases'),
    ]

    operations = [
        migrations.AddField(
            model_name='querylog',
            name='is_test',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
