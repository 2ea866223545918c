"""Phases as parts of a run: what they are made of, and queries about the window of one."""

from collections.abc import Iterator

import pandas as pd
import pytest
from graphs import GPU_STEP, check_table, stored

from tracegraph.base.errors import InputError
from tracegraph.queries.catalog import asking, find
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import RunWindow, fill, find_window
from tracegraph.store.connection import Database

RUN, WITHOUT, NO_STEPS = "tiny-phases", "tiny-no-phases", "tiny-no-steps"
PHASES = """
  , (:Phase {run: $run, rank: 0, step: 1, name: 'forward', occurrence: 1, start_ns: 0, end_ns: 50,
    window_end_ns: 100, evidence: 'recorded', confidence: 1.0, lane: 0, end_lane: 0}),
  (:Phase {run: $run, rank: 0, step: 1, name: 'backward', occurrence: 1, start_ns: 50, end_ns: 110,
    window_end_ns: 110, evidence: 'inferred', confidence: 0.98, lane: 0, end_lane: 0}),
  (:Phase {run: $run, rank: 0, step: 1, name: 'backward', occurrence: 2, start_ns: 110, end_ns: 130,
    window_end_ns: 130, evidence: 'recorded', confidence: 1.0, lane: 0, end_lane: 0})
"""
CASES = {
    "phases": """
        rank step phase occurrence start_ns end_ns window_end_ns evidence confidence lane
        0 1 forward 1 0 50 100 recorded 1.0 0
        0 1 backward 1 50 110 110 inferred 0.98 0
        0 1 backward 2 110 130 130 recorded 1.0 0""",
    # GPU work ends the forward pass later than its thread.
    "phase_window name=forward occurrence=1 step=1": """
        start_ns end_ns chain
        0 100 1""",
    "phase_window name=backward occurrence=1 step=1": """
        start_ns end_ns chain
        50 110 2""",
    "phase_window name=forward occurrence=1": """
        start_ns end_ns chain""",
    "phase_hotspots": """
        rank phase name category on_gpu phases duration_ns inferred_ns
        0 backward gemm kernel True 1 40 0
        0 backward B cpu_op False 1 20 0
        0 backward launch_latency gap True 1 10 0
        0 backward sync cuda_runtime False 1 5 0
        0 backward waiting_for_GPU gap False 1 5 0
        0 forward A cpu_op False 1 40 0
        0 forward gemm kernel True 1 40 0
        0 forward launch cuda_runtime False 1 10 0
        0 forward launch_latency gap True 1 10 0""",
    "phase_paths": """
        phase count evidence confidence mean_ns max_ns deviation_ns mean_window_ns gpu_share gap_share hotspot
        forward 1 recorded 1.0 50.0 50 - 100.0 0.4 0.1 A
        backward 2 inferred 0.98 40.0 60 28 40.0 0.5 0.1875 gemm""",
    # Any query about a window takes the phase of a step; of several the last.
    "hotspots step=1 phase=forward": """
        name duration_ns accumulated_place
        A 40 1
        gemm 40 2
        launch 10 3""",
    "hotspots step=1 phase=backward": """
        name duration_ns prop_in_total
        B 20 1.0""",
    "path_gaps step=1 phase=backward occurrence=1 rank=0": """
        name duration_ns
        launch_latency 10
        waiting_for_GPU 5""",
}


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    outside = PHASES.replace("step: 1, ", "")
    with (
        stored(database, RUN, GPU_STEP + PHASES),
        stored(database, WITHOUT, GPU_STEP),
        stored(database, NO_STEPS, GPU_STEP.replace(":Step", ":Nothing") + outside),
    ):
        yield


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])


def test_the_path_of_a_phase_tiles_its_window(database: Database) -> None:
    query = find("critical_path")
    for occurrence, window in ((1, (50, 110)), (2, (110, 130))):
        given = {"run": RUN, "step": 1, "phase": "backward", "occurrence": occurrence}
        rows = query.run(database, fill(asking(database), query, given))
        edges = pd.concat([rows["start_ns"], rows["end_ns"].tail(1)])
        assert (edges.iloc[0], edges.iloc[-1]) == window
        assert rows["start_ns"].tolist()[1:] == rows["end_ns"].tolist()[:-1]


def test_a_phase_in_no_step(database: Database) -> None:
    assert find_window(asking(database), NO_STEPS, RunPart(phase="forward")) == RunWindow(0, 100, 1)


@pytest.mark.parametrize(
    ("run", "given", "message"),
    [
        (
            RUN,
            {"step": 1, "phase": "optimiser"},
            "no phase 'optimiser' in step 1; present: forward, backward",
        ),
        (RUN, {"step": 1, "phase": "back_ward"}, "no phase 'back ward' in step 1; did you mean backward"),
        (
            RUN,
            {"step": 1, "phase": "backward", "occurrence": 3},
            "no backward 3 in step 1; the last one is 2",
        ),
        (RUN, {"step": 7, "phase": "backward"}, "has no step 7; present: 1, 2"),
        (RUN, {"step": 2, "phase": "backward"}, "no phase 'backward' in step 2; it has none"),
        (RUN, {"phase": "backward"}, "are in steps; give the step, too: 1"),
        (RUN, {"step": 1, "rank": 3, "phase": "backward"}, "has no step 1 of rank 3; ranks with steps: 0"),
        (RUN, {"step": 1, "occurrence": 1}, "the occurrence is that of a phase; give the phase, too"),
        (WITHOUT, {"step": 1, "phase": "backward"}, "has no phases; annotate them"),
        (NO_STEPS, {"step": 1, "phase": "backward"}, "has no step 1; its trace has no steps"),
    ],
)
def test_no_such_phase(run: str, given: dict[str, object], message: str, database: Database) -> None:
    with pytest.raises(InputError, match=message):
        fill(asking(database), find("hotspots"), {"run": run, **given})
