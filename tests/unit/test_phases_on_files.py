"""Phases of public traces: those that a reader of the file finds, and where the backward pass really is."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phase_checks import check_phases, listed, without_sink

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.vocabulary.phases import (
    BACKWARD,
    DATA_LOADING,
    FORWARD,
    OPTIMIZER,
    PHASE_NAMES,
    ZERO_GRAD,
)

RECORDED, INFERRED = "recorded", "inferred"
TRAINING = {ZERO_GRAD: RECORDED, FORWARD: INFERRED, BACKWARD: INFERRED, OPTIMIZER: RECORDED}
NAMED = dict.fromkeys((ZERO_GRAD, FORWARD, BACKWARD, OPTIMIZER), RECORDED)
EXPECTED: dict[str, tuple[list[int | None], dict[str, str]]] = {
    # torch.compile, no optimizer annotation: what follows the backward pass is not told.
    "a4_nanogpt_h100_rank0_of_8.json.gz": ([10, 11, 12, 13], {FORWARD: INFERRED, BACKWARD: INFERRED}),
    "a5_hta_nccl217_a100_rank0_of_2.json.gz": ([4, 5, 6], NAMED),
    "c2_hta_df_index_v100_rank1_of_2_54MBraw.json.gz": ([2, 3, 4, 5, 6], TRAINING),
    "d1_kineto_resnet50_v100_nw4.pt.trace.json.gz": (
        [16, 17, 18, 19, 20, 21],
        {DATA_LOADING: RECORDED, **TRAINING},
    ),
    "e1_ddp_resnet18_mi300_pystack.json.gz": ([None], TRAINING),
    "e2_hta_cpu_only_rank34_of_300.pt.trace.json.gz": (
        [551, 552, 553, 554, 555],
        {DATA_LOADING: RECORDED, **NAMED},
    ),
    "h2_hta_mi250_minitoy_train.json.gz": (
        [1],
        {key: TRAINING[key] for key in (FORWARD, BACKWARD, OPTIMIZER)},
    ),
    "i3_hta_cudagraph_ddp_a100_rank0_of_16.json.gz": ([550, 551, 552, 553, 554], NAMED),
    "torch_cpu/gpt_10k.json.gz": ([2], TRAINING),
    "torch_cpu/whatif_cpu_nostack.json.gz": ([3, 4, 5, 6, 7, 8], TRAINING),
    # Inference.
    "e3_timesformer_h100_pystack.json.gz": ([], {}),
    "h1_qwen_h100.json.gz": ([], {}),
    "h1_qwen_mi300.json.gz": ([], {}),
}
OWN = sorted((Path(__file__).parents[2] / "examples" / "traces").glob("*.json.gz"))
ENGINE = "autograd::engine::evaluate_function"


@pytest.mark.parametrize("name", EXPECTED)
def test_phases_are_those_of_the_file(shared_trace: Callable[[str], Path], name: str) -> None:
    path = shared_trace(name)
    integrity = Integrity(path.name)
    model = build_checked(read_trace(path, integrity), integrity)
    check_phases(model)
    assert not without_sink(model)
    steps, evidence = EXPECTED[name]
    found = listed(model)
    assert sorted({one[0] or 0 for one in found}) == [step or 0 for step in steps]
    for step in steps:
        assert {one[1]: one[6] for one in found if one[0] == step} == evidence
    backward = [(start, end) for _, phase, _, start, end, *_ in found if phase == BACKWARD]
    others = [(start, end) for _, phase, _, start, end, *_ in found if phase != BACKWARD]
    engine = [one for one in _engine(path) if _inside(one, (model.window.start, model.window.end), 1000)]
    # All work of the autograd engine is in a backward phase, and none of it in another one.
    assert all(any(_inside(one, phase) for phase in backward) for one in engine)
    assert not any(_inside(one, phase) for phase in others for one in engine)
    assert bool(engine) == bool(backward)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name.split(".")[0])
def test_phases_of_own_traces(path: Path) -> None:
    integrity = Integrity(path.name)
    model = build_checked(read_trace(path, integrity), integrity)
    check_phases(model)
    assert not without_sink(model)
    for step in set(model.steps.number.tolist()):
        evidence = {one[1]: one[6] for one in listed(model) if one[0] == step}
        evidence.pop(DATA_LOADING, None)
        assert evidence == TRAINING


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_passes_of_sharded_models_hold_their_gathers_and_reductions(ahead: int) -> None:
    path = Path(__file__).parents[1] / "data" / f"fsdp_prefetch_{ahead}" / "rank0.json.gz"
    integrity = Integrity("")
    found = build_checked(read_trace(path, integrity), integrity)
    assert [one[:3] + one[-1:] for one in listed(found)] == [
        (step, name, 1, evidence) for step in (2, 3) for name, evidence in TRAINING.items()
    ]
    events, phases = found.events, found.phases
    for at, name in enumerate(map(str, events.name)):
        if name.startswith("FSDP::"):
            inside = (phases.start <= events.start[at]) & (events.end[at] <= phases.end)
            (phase,) = phases.name[inside]
            assert any(one in name for one in (PHASE_NAMES[phase], "FSDP::all_gather"))


def _inside(one: tuple[float, float], phase: tuple[float, float], scale: float = 1) -> bool:
    return phase[0] / scale - 0.001 <= one[0] and one[1] <= phase[1] / scale + 0.001


def _engine(path: Path) -> list[tuple[float, float]]:
    """From when to when the engine worked, µs, as the file says: read without any of the product."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        rows: list[dict[str, Any]] = json.load(file, strict=False)["traceEvents"]
    found = []
    for row in rows:
        if row.get("ph") == "X" and str(row.get("cat")).lower() in ("cpu_op", "operator"):
            linked = int(row.get("args", {}).get("Fwd thread id") or 0) > 0
            if linked or str(row["name"]).startswith(ENGINE):
                start = float(row["ts"])
                found.append((start, start + float(row["dur"])))
    return found
