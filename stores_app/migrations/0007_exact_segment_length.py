"""Segments that were there before they remembered their length had it estimated; their packed lengths say it exactly."""

import numpy as np
from django.db import migrations


def count_exactly(apps, schema_editor):
    segments = apps.get_model("stores", "Segment").objects
    for pk, estimated, lengths in segments.values_list("pk", "length", "lengths").iterator(chunk_size=100):
        exact = int(np.frombuffer(lengths, "<u4").sum(dtype=np.int64))
        if exact != estimated:
            segments.filter(pk=pk).update(length=exact)


class Migration(migrations.Migration):
    dependencies = [("stores", "0006_segment_length")]

    operations = [migrations.RunPython(count_exactly, migrations.RunPython.noop)]
