"""A small picture of how times grow, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 120, 20, 50
_COLOURS = ("#1d4ed8", "#b45309", "#047857", "#7c3aed")


def svg(sizes: Sequence[int], series: Mapping[str, Sequence[float]]) -> str:
    """Lines over sizes on a logarithmic axis; times in ms on a linear one that begins at 0."""
    highest = _ceiling(max(max(times) for times in series.values()))
    places = [_across(size, sizes) for size in sizes]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
    ]
    for step in range(5):
        value = highest * step / 4
        y = _up(value, highest)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for size, x in zip(sizes, places, strict=True):
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{size:,}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle">chunks (p95 in ms)</text>')
    for colour, (name, times) in zip(_COLOURS, series.items(), strict=False):
        ups = [_up(time, highest) for time in times]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, ups, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in zip(places, ups, strict=True)
        ]
        parts.append(f'<text x="{places[-1] + 10:.1f}" y="{ups[-1] + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _across(size: int, sizes: Sequence[int]) -> float:
    low, high = math.log(min(sizes)), math.log(max(sizes))
    share = 0.5 if high == low else (math.log(size) - low) / (high - low)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _up(value: float, highest: float) -> float:
    return _HEIGHT - _BOTTOM - value / highest * (_HEIGHT - _TOP - _BOTTOM)


def _ceiling(value: float) -> float:
    """The next number with one figure that four steps lead to."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 4.0, 8.0, 10.0) if step * power >= value)
