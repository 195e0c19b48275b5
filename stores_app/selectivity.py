"""How much of a collection a filter lets through: judged by a few hundred of its chunks, and remembered.

Counting them all takes 20 ms and more on 100,000 chunks, longer than the search itself. A wrong estimate
makes a search slower and nothing else.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

import numpy as np

from collections_app.where_sql import Condition, condition
from core_app.ports import Space
from core_app.where import Where
from stores_app.hnsw import VectorIndex, composed
from stores_app.search_plan import FilterEstimate
from stores_app.transfer import binary_cursor

_SAMPLED = 256
#: Vectors that are counted where no index knows how many there are; more are many.
_MANY = 20_000
_REMEMBERED = 1024
_REMEMBERED_SECONDS = 60.0

#: Spread over the collection, one in each of equal parts but not at equal distances: those would fall in
#: step with metadata that repeats. Always the same, so that a search repeated is a search done alike.
_PLACES = ((np.arange(_SAMPLED) + np.random.default_rng(0).random(_SAMPLED)) / _SAMPLED).tolist()

_remembered: OrderedDict[tuple[int, int, str], tuple[float, FilterEstimate]] = OrderedDict()
_lock = threading.Lock()


def estimate(*, space: Space, index: VectorIndex | None, where: Where) -> FilterEstimate:
    """Of a filter; a minute old at most. Without an index all vectors are late ones."""
    # Not the tree itself: in Python 1 equals True, in a filter it does not.
    key = space.generation_id, 0 if index is None else index.watermark, repr(where)
    now = time.monotonic()
    with _lock:
        until, known = _remembered.get(key, (0.0, None))
    if known is not None and now < until:
        return known
    found = _estimated(space, index, condition(where))
    with _lock:
        _remembered[key] = now + _REMEMBERED_SECONDS, found
        _remembered.move_to_end(key)
        while len(_remembered) > _REMEMBERED:
            _remembered.popitem(last=False)
    return found


def _estimated(space: Space, index: VectorIndex | None, narrowed: Condition) -> FilterEstimate:
    watermark = 0 if index is None else index.watermark
    params = {"collection_id": space.collection_id, "places": _PLACES, "many": _MANY, **narrowed.params}
    with binary_cursor() as cursor:
        cursor.execute(composed("sample_filter", space=space, watermark=watermark, where=narrowed.sql), params)
        early, early_passed, late, late_passed = cursor.fetchone()
        cursor.execute(composed("filter_cost", space=space, where=narrowed.sql), params)
        plan = cursor.fetchone()[0]
        if index is None:
            cursor.execute(composed("count_some_vectors", space=space), params)
            total_late = float(cursor.fetchone()[0])
        else:
            total_late = index.rows * late / max(early, 1)
    return FilterEstimate(
        indexed=0 if index is None else index.rows,
        late=total_late,
        # One more, since a sample that has none does not show that there is none.
        share=(early_passed + 1) / (early + 2),
        late_share=late_passed / max(late, 1),
        cost=plan[0]["Plan"]["Total Cost"],
    )
