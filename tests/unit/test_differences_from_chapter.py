"""The rows of docs/differences_from_chapter.md: each number is computed anew, from what the project has."""

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from chapter_rows import rows_of
from tiny_job import ALL_REDUCE, rows_of_rank

from tracegraph.queries.shapes.peak.model_flops import PASSES, read_model
from tracegraph.vocabulary.collectives import KIND
from tracegraph.vocabulary.device_peaks import find_peaks

Floats = npt.NDArray[np.float64]
Span = tuple[int, int]
ROWS = rows_of("Use of the peak", "Communication", "Overlap")
H, L, S, WORDS, TOKENS = 4096, 32, 2048, 32000, 8192
"""The 7B example: width, layers, length of a sequence, words, tokens of a step."""
SIZES = {"model_type": "gpt2", "n_embd": H, "n_layer": L, "n_head": 32, "vocab_size": WORDS}
PEAK, REACHED, STEP_S = 989e12, 450e12, 0.180
SIZE_OF_ROW = re.compile(r"^ *(\d+) +\d+ +float +sum +-1", re.M)
TIME_OF_ROW = re.compile(r"^ +([\d.]+) +[\d.]+ +[\d.]+ +0(?=\S)", re.M)
"""The two parts of a row of nccl-tests, between which NCCL logs: bytes, and µs out of place."""


def step_flops() -> int:
    return PASSES * TOKENS * read_model(json.dumps(SIZES)).token_flops(S)


def says(row: str, *parts: str) -> None:
    assert [part for part in parts if part not in ROWS[row]] == []


def mfu_of_the_example() -> None:
    says("MFU of the 7B example", f"{100 * REACHED / PEAK:.1f} %")


def step_of_the_example() -> None:
    flops = step_flops()
    rate = flops / STEP_S
    says("step of the 7B example", f"{1000 * flops / REACHED:.0f} ms", f"{flops / 1e12:.1f} TFLOP;")
    says("step of the 7B example", f"{rate / 1e12:,.0f} TFLOP/s, {100 * rate / PEAK:.0f} %")


def flops_of_a_layer() -> None:
    assert step_flops() == 3 * TOKENS * (L * ((8 + 16) * H**2 + 4 * S * H) + 2 * H * WORDS)
    chapter = 6 * TOKENS * (L * ((5 + 16) * H**2 + 4 * S * H) + 2 * H * WORDS)
    says("FLOPs of a layer", f"{chapter / step_flops():.2f} times too large")


def recomputation() -> None:
    forward, backward = 2, 4
    assert (2 * forward + backward) * 3 == (forward + backward) * 4
    says("recomputation", "4/3", f"{2 * forward + backward}N", f"{forward + backward}N")


def unknown_devices() -> None:
    card = find_peaks("NVIDIA H100 PCIe")
    assert card is not None
    assert find_peaks("Some GPU") is None
    says("unknown devices", f"has {card.flop_per_s['bfloat16'] / 1e12:.0f};")


def efficiency_of_an_all_reduce() -> None:
    of_three, of_eight = (80 * KIND["all_reduce"].bus_factor(ranks) for ranks in (3, 8))
    assert min(of_three, of_eight) > 100
    says("efficiency of an all-reduce", f"{of_three:.0f} % of it with 3", f"{of_eight:.0f} % with 8")


def steps_of_a_ring() -> None:
    ranks, chunks = 8, 0
    has = [{rank} for rank in range(ranks)]  # of one chunk: whose part each rank has added
    while len(has[-1]) < ranks:  # reduce-scatter: the chunk goes round once
        has[chunks + 1] |= has[chunks]
        chunks += 1
    says("steps of a ring", f"{2 * chunks} times with {ranks} ranks")


def stragglers() -> None:
    slow, fast = (kernels(rows_of_rank(work)) for work in (100, 60))
    assert [end for _, end in slow] == [end for _, end in fast]
    assert all(late - early == 40_000 for (late, _), (early, _) in zip(slow, fast, strict=True))


def clocks_of_ranks() -> None:
    late, early = (kernels(rows_of_rank(work, steps=1))[0] for work in (100, 60))
    assert late[1] - early[1] == 0 < late[0] - early[0]


def kernels(rows: list[dict[str, object]]) -> list[tuple[int, int]]:
    """Begin and end of each all-reduce of a rank, ns."""
    return [(int(str(r["start_ns"])), int(str(r["end_ns"]))) for r in rows if r["name"] == ALL_REDUCE]


def traffic_of_zero() -> None:
    reduce, scatter, gather = (KIND[n].bus_factor(8) for n in ("all_reduce", "reduce_scatter", "all_gather"))
    stages = [scatter + gather, scatter + gather, scatter + 2 * gather]
    says("traffic of ZeRO", "{:g}, {:g} and {:g} times".format(*(stage / reduce for stage in stages)))


def tensor_parallelism() -> None:
    x, w, back = (np.arange(16.0).reshape(4, 4) + one for one in range(3))
    columns, rows = np.hsplit(w, 2), np.vsplit(w, 2)
    assert (np.hstack([x @ part for part in columns]) == x @ w).all()  # forward: nothing is added
    parts = zip(np.hsplit(back, 2), columns, strict=True)
    assert (sum(grad @ part.T for grad, part in parts) == back @ w.T).all()  # backward: a sum
    assert (sum(a @ b for a, b in zip(np.hsplit(x, 2), rows, strict=True)) == x @ w).all()  # forward: a sum
    assert (np.hstack([back @ part.T for part in rows]) == back @ w.T).all()  # backward: nothing is added


def length(*spans: Span) -> int:
    """Measure the union of intervals."""
    total, until = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def by_wall_time(time: float, computing: float, talking: float) -> float:
    """Compute the overlap by the chapter's formula."""
    longer = max(computing, talking)
    return 1 - (time - longer) / (computing + talking - longer)


COMPUTING, TALKING = [(0, 100), (100, 300)], [(80, 200), (200, 480)]
"""Intervals as the table has them: computing takes 3/4 of the time of communication, and nothing is idle."""


def hidden(computing: Sequence[Span], talking: Sequence[Span]) -> int:
    return length(*computing) + length(*talking) - length(*computing, *talking)


def overlap_of_the_table() -> None:
    whole = length(*COMPUTING, *TALKING)
    found = by_wall_time(whole, length(*COMPUTING), length(*TALKING))
    assert whole == 480
    assert length(*COMPUTING) * 4 == length(*TALKING) * 3
    assert found == pytest.approx(hidden(COMPUTING, TALKING) / length(*COMPUTING))
    says("overlap of the table", f"{100 * found:.1f} % by its own formula")


def test_hidden_communication_of_the_table() -> None:
    share = hidden(COMPUTING, TALKING) / length(*TALKING)
    assert f"| {100 * share:.0f} %" in rows_of("What it says rightly")["hidden communication of the table"]


def overlap_by_wall_time() -> None:
    computing, talking = [(10, 20)], [(20, 35)]
    assert hidden(computing, talking) == 0
    assert by_wall_time(100, length(*computing), length(*talking)) < 0 < 100 - length(*computing, *talking)


CHECKS = {
    "MFU of the 7B example": mfu_of_the_example,
    "step of the 7B example": step_of_the_example,
    "FLOPs of a layer": flops_of_a_layer,
    "recomputation": recomputation,
    "unknown devices": unknown_devices,
    "efficiency of an all-reduce": efficiency_of_an_all_reduce,
    "steps of a ring": steps_of_a_ring,
    "stragglers": stragglers,
    "clocks of ranks": clocks_of_ranks,
    "traffic of ZeRO": traffic_of_zero,
    "tensor parallelism": tensor_parallelism,
    "overlap of the table": overlap_of_the_table,
    "overlap by wall time": overlap_by_wall_time,
}
ON_A_LOG = {"quality of a fit", "rate of eight H100"}


@pytest.mark.parametrize("row", CHECKS)
def test_row(row: str) -> None:
    CHECKS[row]()


def test_overlap_by_wall_time_of_a_recording(shared_trace: Callable[[str], Path]) -> None:
    with gzip.open(shared_trace("a1_megatron_tp8_a100_8rank/rank0.json.gz")) as file:
        events = [one for one in json.load(file)["traceEvents"] if one.get("ph") == "X"]
    (step,) = (int(one["dur"]) for one in events if one["name"] == "ProfilerStep#3")
    kernels = [one for one in events if one.get("cat") == "kernel"]
    talking, computing = (
        [(one["ts"], one["ts"] + one["dur"]) for one in kernels if ("nccl" in one["name"]) == talks]
        for talks in (True, False)
    )
    assert hidden(computing, talking) == 0
    times = step, length(*computing), length(*talking)
    row = "overlap by wall time"
    says(row, *(f"{us / 1000:.3f} ms" for us in times), f"{by_wall_time(*times):.2f},".replace("-", "−"))


def test_every_row_has_a_test() -> None:
    assert set(ROWS) == {*CHECKS, *ON_A_LOG}


@pytest.fixture
def measured(shared_trace: Callable[[str], Path]) -> tuple[Floats, Floats]:
    """Bytes and seconds of the all-reduces that a log of NCCL's tests measured on four H100."""
    path = shared_trace("g1_nccl_2.29_4gpu_coll.log")
    text = path.read_text(errors="replace")
    pairs = zip(SIZE_OF_ROW.findall(text), TIME_OF_ROW.findall(text), strict=True)
    found = np.array([[float(size), float(us) / 1e6] for size, us in pairs])
    return found[:, 0], found[:, 1]


def test_quality_of_a_fit(measured: tuple[Floats, Floats]) -> None:
    size, seconds = measured
    design = np.column_stack([np.ones(len(size)), size])
    plain, *_ = np.linalg.lstsq(design, seconds, rcond=None)
    relative, *_ = np.linalg.lstsq(design / seconds[:, None], np.ones(len(size)), rcond=None)
    r2 = 1 - ((seconds - design @ plain) ** 2).sum() / ((seconds - seconds.mean()) ** 2).sum()
    says("quality of a fit", f"{1e6 * plain[0]:.0f} µs at an R² of {r2:.5f}")
    says("quality of a fit", f"relative ones {1e6 * relative[0]:.0f} µs")


def test_rate_of_eight_h100(measured: tuple[Floats, Floats]) -> None:
    size, seconds = measured
    rate = 8 * size.max() / seconds[size.argmax()] / 1e9
    bus = rate * KIND["all_reduce"].bus_factor(4)
    says("rate of eight H100", f"{rate:,.0f} Gbit/s of algorithm", f"{bus:,.0f} of bus bandwidth")
