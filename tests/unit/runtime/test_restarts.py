"""When a dead child is started again."""

from __future__ import annotations

from ragsite.runtime.restarts import RestartPolicy


def test_waits_longer_after_each_death_and_gives_up_at_the_fifth_within_a_minute() -> None:
    policy = RestartPolicy()
    assert [policy.died(now) for now in (0.0, 10.0, 20.0, 30.0, 59.9)] == [0.5, 1.0, 2.0, 4.0, None]


def test_deaths_of_more_than_a_minute_ago_are_forgotten() -> None:
    policy = RestartPolicy()
    for now in (0.0, 1.0, 2.0, 3.0):
        policy.died(now)
    assert policy.died(60.0) == 4.0  # the death at 0 no longer counts
    assert policy.died(200.0) == 0.5


def test_a_child_that_dies_every_twenty_seconds_is_never_given_up() -> None:
    policy = RestartPolicy()
    assert None not in [policy.died(20.0 * count) for count in range(100)]
