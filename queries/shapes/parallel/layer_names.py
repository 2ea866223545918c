"""Which layer each piece of work belongs to: by modules, by annotations, or by a sequence that repeats."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tracegraph.vocabulary.kernel_types import COMMUNICATION
from tracegraph.vocabulary.phases import BACKWARD
from tracegraph.vocabulary.python_frames import MODULE, module_class

BY_MODULE, BY_ANNOTATION, BY_PATTERN = TOLD_BY = ("module", "annotation", "kernel pattern")
"""What can tell a layer, the surest first."""
_NUMBER = re.compile(r"(?<![0-9A-Za-z])\d+(?![0-9A-Za-z])|(?<=[A-Za-z_])\d+$")
"""A number in the name of an annotation, as in `layer 3`, `layers.3` or `block3`; none in a hash."""
_NO_LAYER = re.compile(r"\s*(forward|backward|micro_?-?batch|step)\b", re.IGNORECASE)
"""What numbered annotations name that are no layers: micro-batches of a pipeline, and steps."""
_FEWEST_TIMES, _MOST_CALLS = 3, 16
"""A sequence that repeats less often may do so by chance; one layer communicates no more often than this.
Both were chosen by eye: models have more than two layers; a layer of tensor parallelism communicates twice,
one of experts some more times, and the search takes as many times as long."""
_LEAST_PART = 0.5
"""Layers are most of what a phase runs; a few updates in an optimizer that look alike are none. A half is the
majority."""
_ALMOST = 0.95
"""The shortest sequence is taken that repeats over this part of the longest stretch: two are not one. Chosen
by eye: a longer sequence may reach a few pieces further by chance."""


@dataclass(frozen=True)
class Layers:
    """The layer of each piece of work: its number, null outside layers, and its name; and what tells it."""

    number: npt.NDArray[np.int64]
    names: list[str]
    told_by: str


def find_layers(pieces: pd.DataFrame, phase: str | None) -> Layers | None:
    """Find the layers of what a rank does in one phase of one step; None where nothing tells them.

    Parameters
    ----------
    pieces
        `what`, `name` and `around` of each piece, in the order in which they were launched.
    """
    talks = pieces["what"].eq(COMMUNICATION).to_numpy()
    if not talks.any():
        return None
    around = [str(text).split("\n") if isinstance(text, str) else [] for text in pieces["around"]]
    for told_by, kept, kind in (
        (BY_MODULE, _is_module, module_class),
        (BY_ANNOTATION, _may_be_layer, _without_number),
    ):
        found = _by_names([[name for name in names if kept(name)] for names in around], talks, kind)
        if found is not None:
            number, names = found
            return Layers(number, names, told_by)
    repeats = _repeats(pieces["name"].astype(str).tolist(), talks)
    if repeats is None:
        return None
    start, length, times = repeats
    number = np.full(len(pieces), -1, dtype=np.int64)
    number[start : start + length * times] = np.repeat(np.arange(times), length)
    if phase == BACKWARD:  # its first layer is the last one of forward
        number = np.where(number >= 0, times - 1 - number, -1)
    return Layers(number, [f"layer {place}" for place in range(times)], BY_PATTERN)


def _is_module(name: str) -> bool:
    return name.startswith(MODULE)


def _may_be_layer(name: str) -> bool:
    return not name.startswith(MODULE) and bool(_NUMBER.search(name)) and not _NO_LAYER.match(name)


def _without_number(name: str) -> str:
    return _NUMBER.sub("*", name)


def _by_names(
    around: list[list[str]], talks: npt.NDArray[np.bool_], kind: Callable[[str], str]
) -> tuple[npt.NDArray[np.int64], list[str]] | None:
    """Take the outermost names of which several of one kind stand in the same place and communicate."""
    members: dict[tuple[Any, ...], set[str]] = {}
    for names, talk in zip(around, talks, strict=True):
        if talk:
            for depth, name in enumerate(names):
                members.setdefault((*names[:depth], kind(name)), set()).add(name)
    several = {key for key, found in members.items() if len(found) > 1}
    order: dict[str, int] = {}
    number = np.full(len(around), -1, dtype=np.int64)
    for at, names in enumerate(around):
        keys = ((*names[:depth], kind(name)) for depth, name in enumerate(names))
        layer = next((name for name, key in zip(names, keys, strict=True) if key in several), None)
        if layer is not None:
            number[at] = order.setdefault(layer, len(order))
    return (number, list(order)) if order else None


def _repeats(names: list[str], talks: npt.NDArray[np.bool_]) -> tuple[int, int, int] | None:
    """Find a sequence with communication that follows itself several times: its start, length, and times.

    Candidates for the length are the usual distances from one communication to the k-th after it, so that
    long recordings need no search through all lengths.
    """
    symbols = pd.factorize(np.array(names, dtype=object))[0]
    places = np.flatnonzero(talks)
    found = []
    for calls in range(1, min(_MOST_CALLS, len(places) - 1) + 1):
        distances, often = np.unique(places[calls:] - places[:-calls], return_counts=True)
        length = int(distances[often.argmax()])
        start, covered = _longest_run(symbols, length)
        is_most = covered >= _LEAST_PART * len(symbols)
        own = talks[start : start + length]
        # Messages of a pipeline that follow each other are no layers: these compute, too.
        if is_most and covered // length >= _FEWEST_TIMES and own.any() and not own.all():
            found.append((length, start, covered))
    if not found:
        return None
    most = max(covered for _, _, covered in found)
    length, start, covered = min(one for one in found if one[2] >= _ALMOST * most)
    return start, length, covered // length


def _longest_run(symbols: npt.NDArray[Any], length: int) -> tuple[int, int]:
    """Return where the longest stretch begins in which all is as so many places before, and its length."""
    same = np.concatenate([[0], (symbols[length:] == symbols[:-length]).astype(np.int8), [0]])
    changes = np.flatnonzero(np.diff(same))
    begins, ends = changes[::2], changes[1::2]
    if not len(begins):
        return 0, 0
    longest = int((ends - begins).argmax())
    return int(begins[longest]), int(ends[longest] - begins[longest]) + length
