"""The communication of a rank: which events took part in which operation, as the file states it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.causal.rules.threads.collectives import cpu_collectives
from tracegraph.ingest.ranks.communication_kinds import find_kind, is_communication
from tracegraph.ingest.ranks.message_sizes import message_bytes, sent_bytes, shaped_bytes, stated_bytes
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.collectives import ON_THREADS, stated_kind

_TEXTS = ("collective", "group", "group_ranks", "dtype")
_NUMBERS = ("group_size", "elements", "bytes", "receiver", "sender")
_OF_OPERATORS = ("name", "shapes", "inputs")
_SEQUENCE = "group_sequence"


@dataclass(frozen=True)
class Member:
    """One event of a rank that took part in an operation; what its file does not say is None.

    `kind`: all_reduce and so on. `ranks`: the members of the group. `sequence` counts its operations.
    `input_bytes`: what it puts in, by what the file states or by recorded shapes, B.
    `start`, `end`: ns on the file's CPU clock.
    """

    event: int
    kind: str
    name: str
    group: str | None
    ranks: tuple[int, ...] | None
    size: int | None
    sequence: int | None
    elements: int | None
    dtype: str | None
    input_bytes: int | None
    receiver: int | None
    sender: int | None
    start: int
    end: int


def find_members(model: RankModel, stated: pa.Table) -> list[Member]:
    """Find the members of a rank by start: communication kernels, and collectives of CPU back ends.

    What the row of a kernel does not state is taken from the operator or annotation in which it was launched.
    `stated` holds the events of the file in EVENT_SCHEMA.
    """
    events = model.events
    named = np.array([is_communication(str(name)) for name in events.name.values], dtype=bool)
    kernels = np.flatnonzero(events.of_role(Role.KERNEL) & events.name.matching(named))
    found = np.concatenate([kernels, cpu_collectives(events, model.stack)])
    found = found[np.argsort(events.start[found], kind="stable")]
    around = [list(_around(model, int(event))) for event in found.tolist()]
    facts = _Facts(stated, sorted({place for places in around for place in places}))
    # A job repeats few operations, each of them thousands of times: what they say is read once.
    known: dict[tuple[int, ...], Member | None] = {}
    members = []
    times = zip(events.start[found].tolist(), events.end[found].tolist(), strict=True)
    elements = events.elements[found].tolist()
    for places, counted, (start, end) in zip(around, elements, times, strict=True):
        alike = (counted, *facts.alike(places))
        if alike not in known:
            known[alike] = _member(model, facts, places)
        if (one := known[alike]) is not None:
            sequence = _number(facts.sequence(places))
            members.append(replace(one, event=places[0], sequence=sequence, start=start, end=end))
    return members


def _around(model: RankModel, event: int) -> Iterator[int]:
    """Yield the event, then the events in which its call ran, from the innermost to the outermost."""
    yield event
    at = int(model.launches.call[event]) if model.events.is_gpu[event] else event
    while at >= 0 and (at := int(model.stack.parent[at])) >= 0:
        yield at


class _Facts:
    """What some events of a file state."""

    def __init__(self, stated: pa.Table, rows: list[int]) -> None:
        columns = [*_TEXTS, *_NUMBERS, *_OF_OPERATORS]
        chosen = stated.select([*columns, _SEQUENCE]).take(pa.array(rows, pa.int64())).combine_chunks()
        first, kind = _alike(chosen.select(columns))
        alike = chosen.select(columns).take(pa.array(first))
        self._columns = {name: alike[name].to_pylist() for name in columns}
        self._kind = dict(zip(rows, kind, strict=True))
        self._sequence = dict(zip(rows, chosen[_SEQUENCE].to_pylist(), strict=True))

    def alike(self, places: list[int]) -> Iterator[int]:
        """Yield a number for each of the places, the same where all but the sequence is the same."""
        return (self._kind[at] for at in places)

    def sequence(self, places: list[int]) -> object:
        """Find the first number in its group that one of the places states; None if none does."""
        found = (self._sequence[at] for at in places)
        return next((value for value in found if value is not None), None)

    def first(self, name: str, places: list[int]) -> object:
        """Find the first value that one of the places states; None if none does."""
        column, kind = self._columns[name], self._kind
        for at in places:
            value = column[kind[at]]
            if value is not None and value != "":
                return value
        return None

    def _all(self, name: str, places: list[int]) -> list[Any]:
        return [self._columns[name][self._kind[at]] for at in places]

    def shaped_bytes(self, places: list[int]) -> int | None:
        """Count the bytes that go in, by the shapes of its own row, else of the first operator that tells.

        A collective of a CPU back end states its tensors itself; a kernel does not.
        """
        names, shapes, inputs = (self._all(name, places) for name in ("name", "shapes", "inputs"))
        if names[0].startswith(ON_THREADS):
            return sent_bytes(shapes[0], inputs[0])
        around = zip(names[1:], shapes[1:], inputs[1:], strict=True)
        found = (shaped_bytes(names[0], *one) for one in around)
        return next((size for size in found if size is not None), None)

    def kind(self, places: list[int]) -> str | None:
        """Find the kind of the operation; what is around a kernel for sends and receives says which it is."""
        found = zip(self._all("collective", places), self._all("name", places), strict=True)
        pairs = [(stated_kind(collective or ""), find_kind(name or "")) for collective, name in found]
        kinds = [kind for pair in pairs for kind in pair if kind is not None]
        return next((kind for kind in kinds if kind != "send_recv"), kinds[0] if kinds else None)


def _alike(chosen: pa.Table) -> tuple[Ints, list[int]]:
    """Find the rows of a table that are the same: the first of each kind, and the kind of each row."""
    if not chosen.num_rows:
        return np.empty(0, dtype=np.int64), []
    coded = (column.combine_chunks() for column in chosen.columns)
    coded = (one if pa.types.is_dictionary(one.type) else one.dictionary_encode() for one in coded)
    codes = np.stack([one.indices.fill_null(-1).to_numpy() for one in coded], axis=1)
    _, first, kind = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), kind.reshape(-1).tolist()


def _member(model: RankModel, facts: _Facts, places: list[int]) -> Member | None:
    kind, event = facts.kind(places), places[0]
    if kind is None:
        return None
    events = model.events
    numbers = {name: _number(facts.first(name, places)) for name in _NUMBERS}
    stated, dtype = int(events.elements[event]), _text(facts.first("dtype", places))
    elements = stated if stated != NONE else numbers["elements"]
    size = stated_bytes(elements, dtype)
    if size is None:
        size = message_bytes(kind, numbers["bytes"], numbers["group_size"])
    return Member(
        event=event,
        kind=kind,
        name=str(events.name[event]),
        group=_text(facts.first("group", places)),
        ranks=read_ranks(_text(facts.first("group_ranks", places))),
        size=numbers["group_size"],
        sequence=_number(facts.sequence(places)),
        elements=elements,
        dtype=dtype,
        input_bytes=facts.shaped_bytes(places) if size is None else size,
        receiver=numbers["receiver"],
        sender=numbers["sender"],
        start=int(events.start[event]),
        end=int(events.end[event]),
    )


@lru_cache(maxsize=1024)
def read_ranks(text: str | None) -> tuple[int, ...] | None:
    """Read the ranks of a group as Kineto writes them, `[0, 1]`; None for other text, as for a cut list."""
    inner = (text or "").strip().removeprefix("[").removesuffix("]")
    parts = [part.strip() for part in inner.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        return None
    return tuple(sorted({int(part) for part in parts}))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def as_numbers(values: list[int | None]) -> Ints:
    """Make an array of numbers, `NONE` where there is none."""
    return np.array([NONE if value is None else value for value in values], dtype=np.int64)
