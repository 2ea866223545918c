"""What blocks of memory are for, told from who allocated them, when, and how long they live.

A snapshot does not say what a block holds. Each rule below has its evidence in words and its confidence; a
block that no rule tells is unknown. The rules, in their order:

1. Allocated in a step of the optimizer: its state where the block outlives the step, else a temporary. Where
   the step exchanges old blocks for new ones, both count as allocated in the optimizer until it ends, since
   the old ones are still the state.
2. From before the step and freed in it, and neither a gradient nor allocated in forward: state of the
   optimizer.
3. Allocated below autograd's engine: a gradient if alive when the optimizer begins, else a temporary.
4. Allocated by other code: an activation if freed in backward, a temporary if freed before; one allocated in
   a module is an activation, too, if no backward follows.
5. From before and never freed, sizes as the gradients': as many as there are gradients are parameters, as
   many again state of an optimizer that works in place.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.companions.memory.lives import BEFORE, Lives
from tracegraph.ingest.companions.memory.stacks import ENGINE, MODULE, NOTHING, OPTIMIZER, UNKNOWN_STACK
from tracegraph.vocabulary.memory import (
    ACTIVATION,
    FROM_BEFORE,
    GRADIENT,
    IN_OPTIMIZER,
    OPTIMIZER_STATE,
    PARAMETER,
    TEMPORARY,
    UNKNOWN,
)

_MARKED, _BY_FRAMES, _BY_BACKWARD = "marked", "frames", "backward"
_SURE = {_MARKED: 0.95, _BY_FRAMES: 0.9, _BY_BACKWARD: 0.6}
"""How sure it is where the optimizer begins: PyTorch marked it, its frames show it, backward ended there.
Estimates: no snapshot states it."""
_LIKELY, _LESS_LIKELY, _NONE = 0.8, 0.6, 0.0
"""The confidence of a class that times and frames suggest, of one that little but the lifetime does, and of
none. Estimates, as are those of waits of that kind (docs/rules.md)."""


@dataclass(frozen=True)
class Step:
    """A step of the optimizer between two places of the recording, and how that is known."""

    begin: int
    end: int
    known_by: str


def classify(lives: Lives) -> pd.DataFrame:
    """Return the blocks with class, evidence and confidence; a block whose class changes becomes two.

    The columns are those of `Lives.blocks`, `kind` (who allocated, as in `stacks`), `class`, `evidence` and
    `confidence` (0..1); `begin` and `end` of a row say where it has the class.
    """
    blocks = lives.blocks.copy()
    for name in ("stack", "freed_stack"):
        told = [
            lives.stacks.get(number, UNKNOWN_STACK) if pd.notna(number) else None for number in blocks[name]
        ]
        blocks["kind" if name == "stack" else "freed_kind"] = [
            NOTHING if one is None else one.kind for one in told
        ]
    rules = _Rules(blocks, lives)
    rules.apply()
    return rules.split()


class _Rules:
    def __init__(self, blocks: pd.DataFrame, lives: Lives) -> None:
        self.blocks, self.lives = blocks, lives
        self.recorded = blocks["begin"] > BEFORE
        self.alive = blocks["end"] >= lives.entries
        self.passes = stretches(blocks, ENGINE)
        self.steps = self._find_steps()
        blocks["class"], blocks["evidence"], blocks["confidence"] = UNKNOWN, "no rule tells what for", _NONE
        # Columns of Arrow's strings are copied as a whole by each change.
        blocks[["class", "evidence"]] = blocks[["class", "evidence"]].astype(object)
        self._tell(~self.recorded, FROM_BEFORE, "no entry: allocated before the recording began", 1.0)
        self.told = pd.Series(False, index=blocks.index)
        self.until_end: list[tuple[pd.Series, Step]] = []

    def apply(self) -> None:
        """Apply the rules, each to what the ones before did not tell."""
        self._backward()
        for step in self.steps:
            if step.known_by != _BY_BACKWARD:
                self._optimizer(step)
        self._forward()
        self._kept()

    def _tell(self, rows: "pd.Series[bool]", name: str, evidence: str, confidence: float) -> None:
        for column, value in (("class", name), ("evidence", evidence), ("confidence", confidence)):
            self.blocks.loc[rows, column] = value

    def _settle(self, rows: "pd.Series[bool]", name: str, evidence: str, confidence: float) -> None:
        rows = rows & ~self.told
        self._tell(rows, name, evidence, confidence)
        self.told |= rows

    def _find_steps(self) -> list[Step]:
        """Find the steps of the optimizer as PyTorch marks them, else by frames, else where backward ends."""
        marked = self.lives.steps[["begin", "end"]].itertuples(index=False)
        if found := [Step(int(begin), int(end), _MARKED) for begin, end in marked]:
            return found
        if by_frames := stretches(self.blocks, OPTIMIZER):
            ends = self.blocks["end"][self.blocks["freed_kind"] == OPTIMIZER]
            nexts = [begin for begin, _ in by_frames[1:]] + [self.lives.entries]
            lasts = [
                ends[ends.between(begin, after - 1)].max()
                for (begin, _), after in zip(by_frames, nexts, strict=True)
            ]
            return [
                Step(begin, end if pd.isna(last) else max(end, int(last)), _BY_FRAMES)
                for (begin, end), last in zip(by_frames, lasts, strict=True)
            ]
        return [Step(end + 1, end + 1, _BY_BACKWARD) for _, end in self.passes]

    def _backward(self) -> None:
        blocks = self.blocks
        engine = blocks["kind"] == ENGINE
        for step in self.steps:
            lives_on = engine & (blocks["begin"] < step.begin) & (blocks["end"] > step.begin)
            evidence = {
                _MARKED: "allocated below autograd's engine, alive when the optimizer begins",
                _BY_FRAMES: "allocated below autograd's engine, alive when the optimizer first allocates",
                _BY_BACKWARD: "allocated below autograd's engine, alive when backward ends",
            }[step.known_by]
            self._settle(lives_on, GRADIENT, evidence, _SURE[step.known_by])
        last = max((step.begin for step in self.steps), default=BEFORE)
        left = engine & (blocks["begin"] > last) & self.alive
        self._settle(left, GRADIENT, "allocated below autograd's engine, alive at the end", _LESS_LIKELY)
        self._settle(engine, TEMPORARY, "allocated below autograd's engine, and freed in backward", _LIKELY)

    def _optimizer(self, step: Step) -> None:
        blocks = self.blocks
        inside = blocks["begin"].between(step.begin, step.end)
        freed = blocks["end"].between(step.begin, step.end)
        old_state = freed & (blocks["class"] == OPTIMIZER_STATE)
        exchanged = freed & ~self.recorded
        self._settle(
            exchanged, OPTIMIZER_STATE, "from before, freed in the optimizer's step", _SURE[step.known_by]
        )
        outlives = inside & ~freed & ~self.told
        if (old_state | exchanged).any():
            self.until_end.append((outlives, step))
        self._settle(
            outlives, OPTIMIZER_STATE, "allocated in the optimizer's step, outlives it", _SURE[step.known_by]
        )
        evidence = "allocated in the optimizer's step"
        self._settle(inside, IN_OPTIMIZER, evidence, _SURE[step.known_by])

    def _forward(self) -> None:
        blocks = self.blocks
        other = self.recorded & (blocks["kind"] != ENGINE)
        freed_in_backward = blocks["freed_kind"] == ENGINE
        for begin, end in self.passes:
            freed_in_backward |= (blocks["begin"] < begin) & blocks["end"].between(begin, end)
        evidence = "allocated in forward, freed in backward"
        self._settle(other & freed_in_backward, ACTIVATION, evidence, _SURE[_BY_FRAMES])
        last_pass = max((end for _, end in self.passes), default=BEFORE)
        waiting = other & self.alive & (blocks["kind"] == MODULE) & (blocks["begin"] > last_pass)
        self._settle(
            waiting, ACTIVATION, "allocated in a module, alive where the recording ends", _LESS_LIKELY
        )
        freed = other & ~self.alive
        self._settle(freed, TEMPORARY, "freed before the backward that could need it", _LIKELY)

    def _kept(self) -> None:
        """Tell parameters, and state that is changed in place, by their sizes."""
        blocks = self.blocks
        gradients = blocks[blocks["class"] == GRADIENT]
        counts = [
            gradients[(gradients["begin"] < step.begin) & (gradients["end"] > step.begin)][
                "bytes"
            ].value_counts()
            for step in self.steps
        ] or [gradients["bytes"].value_counts()]
        wanted = max(counts, key=lambda one: int(one.sum()))
        first = min((begin for begin, _ in self.passes), default=BEFORE)
        early = ~self.told & self.alive & (blocks["begin"] < max(first, BEFORE + 1))
        order = blocks[early].groupby("bytes").cumcount() // blocks.loc[early, "bytes"].map(wanted)
        parameter = order.eq(0).reindex(blocks.index, fill_value=False)
        evidence = "from before, never freed, as many and as large as the gradients"
        self._settle(parameter, PARAMETER, evidence, _LIKELY)
        exchanged = (blocks["class"] == OPTIMIZER_STATE).any()
        again = order.between(1, 2).reindex(blocks.index, fill_value=False)
        if not exchanged:
            evidence = "from before, never freed, as large as the gradients, beside as many parameters"
            self._settle(again, OPTIMIZER_STATE, evidence, _LESS_LIKELY)

    def split(self) -> pd.DataFrame:
        """Make two rows of each block that is new state beside the old one until its step ends."""
        blocks, early = self.blocks.copy(), []
        for rows, step in self.until_end:
            part = self.blocks[rows].copy()
            part["class"], part["evidence"] = IN_OPTIMIZER, "allocated in the optimizer's step"
            part["end"] = np.minimum(part["end"], step.end + 1)
            early.append(part)
            blocks.loc[rows, "begin"] = step.end + 1
        whole = pd.concat([blocks, *early], ignore_index=True)
        return whole[whole["end"] > whole["begin"]].reset_index(drop=True)


def stretches(blocks: pd.DataFrame, kind: str) -> list[tuple[int, int]]:
    """Find where allocations of a kind follow each other: first and last place of each stretch."""
    own = blocks[blocks["begin"] > BEFORE].sort_values("begin")
    is_kind = own["kind"] == kind
    number = (is_kind != is_kind.shift()).cumsum()
    spans = own[is_kind].groupby(number[is_kind])["begin"].agg(["min", "max"])
    return [(int(begin), int(end)) for begin, end in spans.itertuples(index=False)]


def changes_of(blocks: pd.DataFrame, lives: Lives) -> pd.DataFrame:
    """Return the changes of classes that the blocks amount to: place, at_ns, class and bytes."""
    born = blocks[["begin", "class", "bytes"]].rename(columns={"begin": "place"})
    gone = blocks.loc[blocks["end"] < lives.entries, ["end", "class", "bytes"]]
    gone = gone.rename(columns={"end": "place"}).assign(bytes=-gone["bytes"])
    changes = pd.concat([born, gone], ignore_index=True)
    return changes.assign(at_ns=lives.at_ns.reindex(changes["place"]).array)
