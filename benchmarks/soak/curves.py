"""The measures over the cycles as one SVG picture with a panel for each, from zero up."""

from collections.abc import Iterator, Sequence

from benchmarks.soak.cycles import Cycle
from benchmarks.soak.judge import LIMIT, MEASURES, Measure

_COLUMNS = 3
"""Panels beside each other."""
_WIDTH, _HEIGHT = 300, 170
"""The size of a panel, in the picture's units."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 12, 12, 40, 26
"""The margins of a panel around its curve."""
_STYLE = """
text { font: 12px sans-serif; fill: #333 }
.name { font-weight: bold }
.axis { stroke: #999 }
.quarter { fill: #eee }
.limit { stroke: #c44; stroke-dasharray: 4 3 }
.curve { fill: none; stroke: #1764ab; stroke-width: 1.3 }
"""


def draw_curves(cycles: Sequence[Cycle]) -> str:
    """Draw the picture: in grey the quarters that are compared, dashed the limit for the last one's mean."""
    rows = -(-len(MEASURES) // _COLUMNS)
    width, height = _COLUMNS * _WIDTH, rows * _HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for place, measure in enumerate(MEASURES):
        down, along = divmod(place, _COLUMNS)
        lines.append(f'<g transform="translate({along * _WIDTH} {down * _HEIGHT})">')
        lines += [*_panel(measure, cycles), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _panel(measure: Measure, cycles: Sequence[Cycle]) -> Iterator[str]:
    values = measure.values(cycles)
    first, _ = measure.quarters(cycles)
    limit = LIMIT * first if measure.judged else 0.0
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    step, scale = wide / max(1, len(values) - 1), high / (max(*values, limit) or 1.0)
    base = _TOP + high
    quarter = wide / 4
    for start in (_LEFT, _LEFT + 3 * quarter):
        yield f'<rect class="quarter" x="{start:.1f}" y="{_TOP}" width="{quarter:.1f}" height="{high}"/>'
    yield f'<text class="name" x="{_LEFT}" y="16">{measure.name}, {measure.unit}</text>'
    yield f'<text x="{_LEFT}" y="32">at most {max(values):,.1f}, at last {values[-1]:,.1f}</text>'
    yield f'<line class="axis" x1="{_LEFT}" x2="{_LEFT + wide}" y1="{base}" y2="{base}"/>'
    if limit:
        level = f"{base - limit * scale:.1f}"
        yield f'<line class="limit" x1="{_LEFT}" x2="{_LEFT + wide}" y1="{level}" y2="{level}"/>'
    points = (f"{_LEFT + i * step:.1f},{base - value * scale:.1f}" for i, value in enumerate(values))
    yield f'<polyline class="curve" points="{" ".join(points)}"/>'
    yield f'<text x="{_LEFT}" y="{base + 16}">1</text>'
    yield f'<text x="{_LEFT + wide}" y="{base + 16}" text-anchor="end">{len(values)} cycles</text>'
