"""The bubble of each stage as the job itself measured it, beside that of the query and the formula.

python -m pipeline.own_bubble OWN_FOLDER ANSWER.json

OWN_FOLDER is what the job noted of itself, ANSWER what `tracegraph query pipeline --format json` says.
"""

import json
import statistics
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from common.job import RECORDED
from common.own_times import Noted, read_noted


def own_times(step: Sequence[Sequence[Noted]]) -> tuple[int, list[int]]:
    """Return the time from the first pass of any stage to the end of the last, and in passes by stage, ns."""
    first = min(start for rows in step for _, start, _ in rows)
    last = max(end for rows in step for _, _, end in rows)
    return last - first, [sum(end - start for _, start, end in rows) for rows in step]


def own_bubbles(step: Sequence[Sequence[Noted]]) -> list[float]:
    """Return the share of the step in which each stage makes no pass."""
    span, busy = own_times(step)
    return [1 - length / span for length in busy]


def main() -> None:
    """Print the bubbles of each stage, means of the recorded steps."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("own", type=Path)
    parser.add_argument("answer", type=Path)
    options = parser.parse_args()
    own = [own_bubbles(step) for step in read_noted(options.own, RECORDED)]
    rows = json.loads(options.answer.read_text())
    print(f"{'stage':<8}{'tracegraph':<14}{'the job itself':<18}{'formula':<10}")
    for stage in range(len(own[0])):
        found = [row for row in rows if row["stage"] == stage]
        told, itself, formula = (
            statistics.mean(values)
            for values in (
                [row["bubble_share"] for row in found],
                [step[stage] for step in own],
                [row["expected_1f1b"] for row in found],
            )
        )
        print(f"{stage:<8}{f'{told:.1%}':<14}{f'{itself:.1%}':<18}{formula:.1%}")


if __name__ == "__main__":
    main()
