"""What can be done about the peak of memory, each with the bytes that it saves: a replay of the recording.

Each fix changes how much of a class there is, or when blocks live; the peak is then looked for again, since
something else may fill the memory before. What a fix takes of time is said as far as a recording of memory
tells it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.companions.memory.checkpoints import blocks_in_calls, checkpointed
from tracegraph.ingest.companions.memory.class_rules import changes_of
from tracegraph.ingest.companions.memory.levels import levels, peak_of
from tracegraph.ingest.companions.memory.recording import Recording
from tracegraph.vocabulary.memory import (
    ACTIVATION,
    AUTOGRAD,
    GRADIENT,
    IN_OPTIMIZER,
    INPUT,
    OPTIMIZER_STATE,
    PARAMETER,
    SNAPSHOT,
    TEMPORARY,
)

_OF_THE_BATCH = (ACTIVATION, AUTOGRAD, INPUT, TEMPORARY)
"""Classes that grow with the batch."""
_SHARDED = {1: (OPTIMIZER_STATE,), 2: (OPTIMIZER_STATE, GRADIENT), 3: (OPTIMIZER_STATE, GRADIENT, PARAMETER)}
"""What each stage of ZeRO splits over the GPUs (Rajbhandari et al., 2020, section 5)."""
_TRAFFIC = {1: "1", 2: "1", 3: "1.5"}
"""How many times what data parallelism sends each stage sends (the same, section 7)."""
_LEAST_SHARE = 0.001
"""A fix that saves a smaller part of the peak is not listed. Chosen by eye: sizes are shown with three
digits, so that a smaller part would hardly change them."""
_MOST_MODULES = 5
"""How many modules, those with most activations first, are tried for checkpointing: each costs a new
timeline."""


@dataclass(frozen=True)
class MemoryFix:
    """A fix: what to do, the peak that is predicted, bytes saved, and what it costs or leaves out in words.

    `time_ns`: how long the calls that run again took on the host; None where a recording does not tell it.
    """

    name: str
    what: str
    peak_bytes: int
    saved_bytes: int
    costs: str
    time_ns: int | None = None


def memory_fixes(recording: Recording, gpus: int = 2) -> list[MemoryFix]:
    """Return the fixes that lower the peak of the recording, that which saves most first.

    `gpus`: over how many ZeRO splits.
    """
    found = [*_of_classes(recording, gpus), *_checkpoints(recording)]
    least = max(_LEAST_SHARE * recording.peak.bytes, 1)
    worth = [fix for fix in found if fix.saved_bytes >= least]
    return sorted(worth, key=lambda fix: -fix.saved_bytes)


def _of_classes(recording: Recording, gpus: int) -> Iterator[MemoryFix]:
    """Yield the fixes that make all of some classes smaller."""

    def fix(name: str, what: str, classes: Sequence[str], left: float, costs: str) -> MemoryFix:
        running = recording.running.copy()
        for one in running.columns.intersection(list(classes)):
            running[one] = (running[one] * left).round().astype(np.int64)
        peak = peak_of(running).bytes
        return MemoryFix(name, what, peak, recording.peak.bytes - peak, costs)

    moved = int(recording.running.get(OPTIMIZER_STATE, pd.Series([0])).max())
    yield fix(
        "half the batch", "halve the batch, and accumulate gradients over two", _OF_THE_BATCH, 0.5,
        "small products use a GPU less well; temporary memory that is independent of the batch stays",
    )  # fmt: skip
    yield fix(
        "optimizer in place", "let the optimizer change its state in place, as fused=True does",
        (IN_OPTIMIZER,), 0, "saves time, too: fewer kernels and fewer allocations",
    )  # fmt: skip
    yield fix(
        "offload the optimizer", "keep the optimizer's state in the host's memory",
        (OPTIMIZER_STATE, IN_OPTIMIZER), 0,
        f"{2 * moved:,} bytes cross the link to the host each step, or the optimizer runs on the CPU",
    )  # fmt: skip
    for stage, classes in _SHARDED.items():
        note = ", and a layer's parameters are gathered beside" if PARAMETER in classes else ""
        yield fix(
            f"ZeRO stage {stage}", f"split {', '.join(classes)} over {gpus} GPUs (ZeRO stage {stage})",
            (*classes, IN_OPTIMIZER), 1 / gpus,
            f"sends {_TRAFFIC[stage]} times what data parallelism sends{note}",
        )  # fmt: skip


def _checkpoints(recording: Recording) -> Iterator[MemoryFix]:
    """Yield checkpointing of the modules that hold most activations, by class or line of call."""
    blocks, lives = recording.blocks, recording.lives
    if blocks is None or lives is None:
        return
    modules = blocks_in_calls(blocks, lives)
    for name in list(modules)[:_MOST_MODULES]:
        moved, time_ns = checkpointed(blocks, modules[name], lives)
        peak = peak_of(levels(changes_of(moved, lives))).bytes
        what = f"the module that {name} calls" if recording.kind == SNAPSHOT else f"each {name}"
        yield MemoryFix(
            f"checkpoint {name}",
            f"call {what} by torch.utils.checkpoint.checkpoint",
            peak,
            recording.peak.bytes - peak,
            "runs its forward again in backward",
            time_ns,
        )
