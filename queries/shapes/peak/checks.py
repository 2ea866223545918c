"""What to look at where steps reach little of the peak: checks, their thresholds, and how one is judged."""

from dataclasses import dataclass
from typing import Any, Literal

from tracegraph.queries.shapes.peak import losses

State = Literal["ok", "failed", "not judged"]
"""States of a check, also of `health`: what cannot be judged has not passed."""
OK: State = "ok"
FAILED: State = "failed"
NOT_JUDGED: State = "not judged"


@dataclass(frozen=True)
class PeakCheck:
    """One check of the checklist.

    Attributes
    ----------
    name
        Its name in the table.
    what
        What is measured, as a share.
    threshold
        The share that it must not pass, 0..1; a choice of ours, as no vendor states one.
    advice
        What to do where it fails.
    is_floor
        Whether it fails below its threshold, instead of above it.
    loss
        The part of `peak_losses` that it measures; empty if it measures work.
    """

    name: str
    what: str
    threshold: float
    advice: str
    is_floor: bool = False
    loss: str = ""


@dataclass(frozen=True)
class Value:
    """A measured share, and what must be known to read it; `advice`: of these devices, if not the check's."""

    share: float
    note: str | None = None
    advice: str | None = None


@dataclass(frozen=True)
class Untold:
    """Why a share cannot be told, and what to record or to give; whole sentences."""

    why: str


def _lost(loss: str, threshold: float, advice: str) -> PeakCheck:
    meaning = next(one.meaning for one in losses.LOSSES if one.name == loss)
    return PeakCheck(loss, f"of the steps: {meaning}", threshold, advice, loss=loss)


TENSOR_CORES = PeakCheck(
    "tensor cores",
    "of the time of computing kernels: their names say that they use tensor cores",
    0.5,
    "Compute products in 16 bits or TF32, with sizes that are multiples of 8, or fuse what lies between",
    is_floor=True,
)
FLOAT32 = PeakCheck(
    "float32 products",
    "of the time of computing kernels: products in float32 that do not use tensor cores",
    0.05,
    "Let them run in TF32, or compute in 16 bits (the fixes tf32 and bf16)",
)
SMALL = PeakCheck(
    "small products",
    "of the time of products: at the peak they would take less than 10 µs, too little to fill the device",
    0.1,
    "Use a larger batch, batch products that are alike, or split the model over fewer GPUs",
)
MEMORY_BOUND = PeakCheck(
    "memory-bound work",
    "of the time of computing kernels: operators that the memory bounds, by FLOPs a byte",
    0.3,
    "Fuse elementwise work and normalisation, as torch.compile does (the fix fuse)",
)
IN_16_BITS = {
    TENSOR_CORES: "Compute products in 16 bits, in sizes that are multiples of 8, or fuse what lies between",
    FLOAT32: "Compute in 16 bits; these GPUs do not compute in TF32",
}
"""The advice on devices without TF32."""
RECOMPUTATION = PeakCheck(
    "recomputation",
    "of the FLOPs that ran: products that backward passes run once more",
    0.1,
    "Checkpoint fewer modules, or only cheap ones, if the memory allows it",
)
LOST = (
    _lost(
        losses.TRANSFER,
        0.1,
        "Use a larger batch or accumulate gradients, so that communication comes less often, or overlap it",
    ),
    _lost(
        losses.RANKS,
        0.05,
        "See in the section Ranks who is late, and why: balance work, or leave out a machine that is slow",
    ),
    _lost(losses.EXPOSED_MEMORY, 0.05, "Copy ahead on a stream of its own, from pinned memory"),
    _lost(losses.LOADING, 0.02, "Load ahead with more workers, and keep them alive (persistent_workers)"),
    _lost(losses.SYNCHRONISATION, 0.02, "Do not read results back in each step (.item(), .cpu())"),
    _lost(losses.LAUNCHING, 0.05, "Capture the step in a CUDA graph, or use torch.compile"),
    _lost(
        losses.HOST,
        0.05,
        "See with idle_causes what the host does: compile Python code, or move it to where the GPU is busy; "
        "keep slow calls of the driver, as those that allocate, out of the loop",
    ),
)
CHECKS = (TENSOR_CORES, FLOAT32, SMALL, MEMORY_BOUND, RECOMPUTATION, *LOST)
"""All checks: what the GPUs compute, then what else the steps go to."""


def judged(check: PeakCheck, found: Value | Untold) -> dict[str, Any]:
    """Return the row of a check: its value beside the threshold, or what it lacks."""
    row = {"check": check.name, "what": check.what, "threshold": check.threshold, "is_floor": check.is_floor}
    if isinstance(found, Untold):
        return {**row, "value": None, "state": NOT_JUDGED, "note": found.why, "advice": None}
    failed = found.share < check.threshold if check.is_floor else found.share > check.threshold
    advice = found.advice or check.advice if failed else None
    return {
        **row,
        "value": found.share,
        "state": FAILED if failed else OK,
        "note": found.note,
        "advice": advice,
    }
