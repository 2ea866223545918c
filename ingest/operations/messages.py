"""Messages between the stages of a pipeline: which send and receive are one, and what they hand on."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tracegraph.vocabulary.operation_types import PASSES, OperationType

_NOISE_NS = 50_000
"""By how much the clocks within a step may be apart, ns."""


@dataclass(frozen=True)
class Messages:
    """Messages of a step by the positions of their operations.

    `groups`: the members of each message: a send and its receive, or one alone that has no partner. `orders`:
    pairs of an operation and one that follows it, on one worker.
    """

    groups: Sequence[Sequence[int]]
    orders: Sequence[tuple[int, int]]


def match_messages(rows: pd.DataFrame) -> Messages:
    """Match the messages of one step of one data-parallel rank.

    The k-th send of a stage and the k-th receive of the next one are one message, without those that have no
    partner: forward into the first chunk of the model and out of its last, and backward likewise, and those
    that a profiler wrote down before or after all work of their pass.
    """
    found = _Found([], [])
    stages = sorted(rows["stage"].unique())
    last_chunk = int(rows["model_chunk"].max())
    for work, send, receive, step in PASSES:
        told = {
            (kind.name, stage): _of_stage(rows, stage, (work, kind), step, last_chunk, found)
            for stage in stages
            for kind in (send, receive)
        }
        for place, stage in enumerate(stages):
            onward = stages[(place + step) % len(stages)]
            sent, received = told[send.name, stage], told[receive.name, onward]
            pairs = list(zip(sent, received, strict=False))
            found.groups.extend(list(pair) for pair in pairs)
            found.groups.extend([at] for at in (*sent[len(pairs) :], *received[len(pairs) :]))
    return Messages(found.groups, found.orders)


@dataclass(frozen=True)
class _Found:
    """What grows from stage to stage."""

    groups: list[list[int]]
    orders: list[tuple[int, int]]


def _of_stage(
    rows: pd.DataFrame,
    stage: int,
    kinds: tuple[OperationType, OperationType],
    step: int,
    last_chunk: int,
    found: _Found,
) -> list[int]:
    """List the operations of one type and stage that have a partner, in order; add what is known of all."""
    work, kind = kinds
    own = rows[rows["stage"] == stage]
    made = own[own["type"] == work.name].sort_values("sequence")
    listed = own[own["type"] == kind.name].sort_values(["start_ns", "sequence"], kind="stable")
    sends = kind.collective == "send"
    if sends:
        used = listed[listed["end_ns"] >= made["end_ns"].min() - _NOISE_NS]
    else:
        used = listed[listed["start_ns"] <= made["start_ns"].max() + _NOISE_NS]
    found.groups.extend([int(at)] for at in listed.index.difference(used.index))
    skipped = int(not sends and len(used) + 1 == len(made))
    works = made.index.tolist()[skipped:]
    found.groups.extend([int(at)] for at in used.index[len(works) :])
    partnered = []
    for k, (at, uses) in enumerate(zip(used.index.tolist(), works, strict=False), skipped):
        if sends:
            found.orders.append((uses, at))
        else:
            found.orders.append((at, uses))
            found.orders.extend([(int(made.index[k - 1]), at)] if k else [])
        peer = int(made["model_chunk"][uses]) + (step if sends else -step)
        if 0 <= peer <= last_chunk:
            partnered.append(at)
        else:
            found.groups.append([at])
    return partnered
