"""The lengths of phases summed up: over all of a name, over steps, and over ranks."""

import pandas as pd

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.path.phase_sums import PHASE_COLUMNS, phase_paths

PHASES = """
    rank step phase     length_ns
    0    1    forward   100
    0    2    forward   200
    1    1    forward   300
    1    2    forward   400
    0    1    backward  10
    0    1    backward  30
    0    2    backward  20
    0    1    optimizer 5"""
SUMS = """
    phase     mean_ns min_ns max_ns deviation_ns step_deviation_ns rank_deviation_ns
    forward   250.0   100    400    129          71                141
    backward  20.0    10     30     10           0                 -
    optimizer 5.0     5      5      -            -                 -"""


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def test_lengths_are_summed_over_all_over_steps_and_over_ranks() -> None:
    header, *listed = cells(PHASES)
    rows = pd.DataFrame(listed, columns=header).astype({"rank": int, "step": int, "length_ns": int})
    phases = rows.assign(start_ns=0, end_ns=rows["length_ns"], window_end_ns=rows["length_ns"])
    known = phases.assign(evidence="recorded", confidence=1.0)
    nothing = pd.DataFrame(columns=[column.name for column in find("phase_hotspots").columns])
    hotspots = in_types(nothing, find("phase_hotspots").columns)
    found = in_types(phase_paths({}, known, hotspots), PHASE_COLUMNS)
    wanted, *expected = cells(SUMS)
    told = found[wanted].astype(object).where(found[wanted].notna(), "-")
    assert [[str(value) for value in row] for row in told.to_numpy().tolist()] == expected
