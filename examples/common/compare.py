"""What was predicted beside what was measured without the profiler.

python -m common.compare PREDICTED.json TIMES.json VARIANT [--steps N]

PREDICTED is what `tracegraph what-if --format json` says, TIMES what a job's --time writes.
"""

import json
import statistics
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.job import RECORDED


def spread(values: Sequence[float], places: int) -> str:
    """Write the median and the quartiles."""
    low, middle, high = statistics.quantiles(values, method="inclusive")
    return f"{middle:.{places}f} [{low:.{places}f}–{high:.{places}f}]"


def predicted_row(answer: Mapping[str, Any], steps: int) -> tuple[str, ...]:
    """Return the row of the prediction, with times for each step."""
    before, after = (f"{answer[key] / steps / 1e6:.1f}" for key in ("base_ns", "predicted_ns"))
    limits = answer["range"]
    times = f"{answer['speedup']:.2f} ({limits['speedup_low']:.2f} to {limits['speedup_high']:.2f})"
    return "predicted", before, after, times


def measured_row(times: Mapping[str, Sequence[float]], variant: str) -> tuple[str, ...]:
    """Return the row of the measurement: step times, and how many times as fast each round became."""
    before, after = times["before"], times[variant]
    ratios = [one / other for one, other in zip(before, after, strict=True)]
    return "measured", spread(before, 1), spread(after, 1), spread(ratios, 2)


def main() -> None:
    """Read both files and print a table."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("predicted", type=Path)
    parser.add_argument("times", type=Path)
    parser.add_argument("variant")
    parser.add_argument("--steps", type=int, default=RECORDED, help=f"in the recording (default: {RECORDED})")
    options = parser.parse_args()
    answer, times = (json.loads(file.read_text()) for file in (options.predicted, options.times))
    rows = [
        ("", "step before, ms", f"{options.variant}, ms", "times as fast"),
        predicted_row(answer, options.steps),
        measured_row(times, options.variant),
    ]
    for row in rows:
        print("  ".join(f"{cell:<20}" for cell in row).rstrip())


if __name__ == "__main__":
    main()
