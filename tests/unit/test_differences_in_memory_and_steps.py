"""More rows of docs/differences_from_chapter.md: steps, memory, and what the chapter says rightly."""

import gzip
import pickle
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chapter_rows import headings, rows_of
from scipy import stats

ROWS = rows_of("Steps and ranks", "Memory", "What it says rightly")
SNAPSHOT = "k2_torch_memory_snapshot_train.pickle.gz"
BATCH, LENGTH, WIDTH, LAYERS, HEADS = 4, 2048, 4096, 32, 32
BILLION_PARAMETERS = 7


def says(row: str, *parts: str) -> None:
    assert [part for part in parts if part not in ROWS[row]] == []


def largest_z(values: Sequence[float]) -> float:
    return max(abs(one - statistics.mean(values)) for one in values) / statistics.pstdev(values)


def outliers_among_ranks() -> None:
    rng = np.random.default_rng(1)
    for ranks in (3, 4, 5):
        assert largest_z([1.0] * (ranks - 1) + [1e9]) == pytest.approx((ranks - 1) ** 0.5)
        assert (
            max(largest_z(rng.exponential(size=ranks) ** 9) for _ in range(200)) < (ranks - 1) ** 0.5 + 1e-9
        )
    assert largest_z([1.0] * 5 + [1e9]) > 2
    says("outliers among ranks", "up to 5 ranks")


def comparing_two_series() -> None:
    rng = np.random.default_rng(0)
    few, many = rng.normal(0, 4, (20_000, 10)), rng.normal(0, 1, (20_000, 30))
    plain, welch = (
        stats.ttest_ind(few, many, axis=1, equal_var=equal).pvalue < 0.05 for equal in (True, False)
    )
    says("comparing two series of steps", f"{plain.mean():.0%}".replace("%", " %"))
    says("comparing two series of steps", f"of {welch.mean():.0%}".replace("%", " %").removeprefix("of "))


def variance() -> None:
    steps = [90, 110]
    says("variance", f"{statistics.pstdev(steps):g} ms", f"{statistics.pvariance(steps):g} ms²")


def throughput() -> None:
    rate = 1 / 0.180
    says("throughput", f"{rate:.1f} steps", f"{32 * rate:.0f} samples a second")


def state_of_the_optimizer() -> None:
    parameters, gradients, master, state = (BILLION_PARAMETERS * size for size in (2, 2, 4, 4 + 4))
    rest = parameters + gradients + master + state
    says("state of the optimizer", f"{state / rest:.0%}".replace("%", " %"), f"{state} of {rest} GB")
    says("state of the optimizer", f"take {parameters} each", f"copy {master}")


def activations() -> None:
    tokens = BATCH * LENGTH * WIDTH * LAYERS
    scores = 5 * HEADS * LENGTH / WIDTH
    says(
        "activations of the 7B example",
        f"{34 * tokens / 1e9:.1f} GB",
        f"{(34 + scores) * tokens / 1e9:.1f} GB",
    )
    says("activations of the 7B example", f"{scores:g} beside 34")


def bubble() -> None:
    stages, batches = 4, 8
    ends = np.zeros((stages + 1, batches + 1))  # GPipe, forward and then backward of twice the length
    for stage in range(1, stages + 1):
        for batch in range(1, batches + 1):
            ends[stage, batch] = max(ends[stage - 1, batch], ends[stage, batch - 1]) + 1
    length = 3 * ends[-1, -1]  # backward passes mirror it
    idle = 1 - 3 * batches / length
    assert idle == pytest.approx((stages - 1) / (batches + stages - 1))
    says("bubble of a pipeline", f"{100 * idle:.1f} %")


def memory_of_zero() -> None:
    ranks, whole = 8, 2 + 2 + 4 + 4 + 4
    kept = 2 + 2 + sum(size / ranks for size in (4, 4, 4))
    assert whole / kept == pytest.approx(16 / (4 + 12 / ranks))
    says("memory of ZeRO's first stage", f"{whole / kept:.2f} times")


def memory_of_the_example() -> None:
    says("memory of the 7B example", f"| {BILLION_PARAMETERS * (2 + 2 + 4 + 4 + 4) + 64} GB")


def tenth_of_the_job() -> None:
    says("a tenth of 64 GPUs", f"| {64 * 24 / 10:.0f}")


CHECKS = {
    "outliers among ranks": outliers_among_ranks,
    "comparing two series of steps": comparing_two_series,
    "variance": variance,
    "throughput": throughput,
    "state of the optimizer": state_of_the_optimizer,
    "activations of the 7B example": activations,
    "bubble of a pipeline": bubble,
    "memory of ZeRO's first stage": memory_of_zero,
    "memory of the 7B example": memory_of_the_example,
    "a tenth of 64 GPUs": tenth_of_the_job,
}
ON_A_SNAPSHOT = {
    "fragmentation",
    "memory that is nearly full",
    "when memory is fullest",
    "memory by line of code",
}
WITH_OVERLAP = {"hidden communication of the table"}
"""The row whose test stands with those on overlap."""


@pytest.mark.parametrize("row", CHECKS)
def test_row(row: str) -> None:
    CHECKS[row]()


def test_every_row_has_a_test() -> None:
    assert set(ROWS) == {*CHECKS, *ON_A_SNAPSHOT, *WITH_OVERLAP}
    of_others = ["Use of the peak", "Communication", "Overlap"]
    assert headings() == [*of_others, "Steps and ranks", "Memory", "What it says rightly"]


class Plain(pickle.Unpickler):
    """Reads dicts, lists, texts and numbers; anything else would run code."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"{module}.{name}")


@pytest.fixture(scope="module")
def snapshot(shared_trace: Callable[[str], Path]) -> Mapping[str, Any]:
    with gzip.open(shared_trace(SNAPSHOT)) as file:
        return Plain(file).load()  # type: ignore[no-any-return]


def blocks(snapshot: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for segment in snapshot["segments"]:
        yield from ((segment, block) for block in segment["blocks"])


def levels(snapshot: Mapping[str, Any]) -> list[tuple[int, int]]:
    """How many bytes were asked for after each entry of the recording, and when, µs."""
    (entries,) = snapshot["device_traces"]
    signs = {"alloc": 1, "free_completed": -1}
    net = np.cumsum([signs.get(one["action"], 0) * one["size"] for one in entries])
    active = sum(one["requested_size"] for _, one in blocks(snapshot) if one["state"].startswith("active"))
    return [
        (active - int(net[-1]) + int(one), int(e["time_us"])) for one, e in zip(net, entries, strict=True)
    ]


def test_fragmentation(snapshot: Mapping[str, Any]) -> None:
    reserved, allocated = (
        sum(s[name] for s in snapshot["segments"]) for name in ("total_size", "allocated_size")
    )
    split = sum(b["size"] for s, b in blocks(snapshot) if b["state"] == "inactive" and len(s["blocks"]) > 1)
    says(
        "fragmentation",
        f"{100 - 100 * allocated / reserved:.1f} % by the first",
        f"{100 * split / reserved:.1f} % by",
    )


def test_memory_that_is_nearly_full(snapshot: Mapping[str, Any]) -> None:
    reserved = sum(one["total_size"] for one in snapshot["segments"])
    says("memory that is nearly full", f"{100 * max(levels(snapshot))[0] / reserved:.1f} % of it")


def test_when_memory_is_fullest(snapshot: Mapping[str, Any]) -> None:
    (begin, end) = (one["time_us"] for one in snapshot["external_annotations"])
    peak, when = max(levels(snapshot))
    assert begin < when < end
    before = max(level for level, at in levels(snapshot) if at < begin)
    says("when memory is fullest", f"optimizer: {peak / 1e9:.3f} GB", f"at most {before / 1e9:.3f}")


def test_memory_by_line_of_code(snapshot: Mapping[str, Any]) -> None:
    (entries,) = snapshot["device_traces"]
    ((name, file),) = {(one["frames"][0]["name"], one["frames"][0]["filename"]) for one in entries}
    says("memory by line of code", f"`{name}` in `{file}`")
