"""Which ranks of a job are kept in full, where the others are kept in short."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Protocol

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import find_stretches
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.ranks.agreement import agree, agreed_ranks
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.ranks.reading import text_bytes
from tracegraph.ingest.sources.source import Source
from tracegraph.vocabulary.gaps import GAP_CODE, IN_SHORT

_PACE, _LATE, _MIDDLE = 4, 4, 3
"""How many ranks are kept in full: those that set the pace, those that make others wait most, and those that
these are compared with. Chosen by eye: where more than four share the path or the waiting no rank is the late
one, and of three the middle one is not an odd one."""
_FEWEST, _MOST_BYTES = 3, 3 << 28
"""How many ranks are kept in full however large they are, so that the late one is compared with others; and
how many bytes of text further ones may have with them: that of some three million events."""
_LEAST = 0.02
"""The share (0..1) of the path, or of all waiting, from which on a rank counts: twice what a fix must."""


class Read(Protocol):
    """Reads the parts of sources in their order."""

    def __call__(self, sources: Sequence[Source], *, in_short: bool = False) -> list[Part]:
        """Read all of them in full, or in short."""


def read_in_short(sources: Sequence[Source], read: Read, options: IngestOptions) -> list[Part]:
    """Read the ranks of a job, one a source: those in full that it is about, the others in short.

    All are read in short first. Then it is known which ranks it is about, and these are read once more.

    Raises
    ------
    InputError
        A file cannot be used, holds several ranks, or changed meanwhile; the files are not the ranks of one
        job; or it lacks a rank that is asked for.
    """
    parts = read(sources, in_short=True)
    if len(parts) != len(sources):
        raise InputError(
            "a file holds several ranks, which are read together",
            "leave --detail path out, or split the file: tracegraph convert",
        )
    ranks = agreed_ranks(parts)
    chosen = options.in_full
    if not chosen:
        sizes = dict(zip(ranks, map(text_bytes, sources), strict=True))
        chosen = choose_in_full(build_job(agree(parts), options.policy).model, sizes)
    _check_there(chosen, ranks)
    places = [place for place, rank in enumerate(ranks) if rank in set(chosen)]
    for place, part in zip(places, read([sources[place] for place in places]), strict=True):
        if part.file.sha256 != parts[place].file.sha256:
            raise InputError(f"{part.file.path} changed while it was read", "try again once it is complete")
        parts[place] = part
    return parts


def choose_in_full(model: Model, sizes: Mapping[int, int]) -> list[int]:
    """Choose ranks of a job all of which are in short.

    They are up to four on which the path spends most time, up to four that make the others wait longest,
    each for 2 % of all or more; and three from the middle of the rest, by how long they wait themselves.
    Where that is too much to keep, they are the first of each kind, then the second, and so on.

    Parameters
    ----------
    sizes
        How much text the file of each rank holds, bytes.
    """
    ranks = np.unique(model.lanes.rank)
    pace, late, waited = _on_path(model, ranks), *_waiting(model, ranks)
    least = _LEAST * (model.window.end - model.window.start)
    on_path = _most(ranks, pace, least)[:_PACE]
    waited_for = _most(ranks, late, max(1, _LEAST * late.sum()))[:_LATE]
    is_rest = ~np.isin(ranks, [*on_path, *waited_for])
    by_wait = ranks[is_rest][np.argsort(waited[is_rest], kind="stable")]
    begin = max(0, (len(by_wait) - _MIDDLE) // 2)
    # Of these three the middle one comes first: it may be the only one.
    middle = np.roll(by_wait[begin : begin + _MIDDLE], -1).tolist()
    in_turn = chain.from_iterable(zip_longest(waited_for, on_path, middle))
    return sorted(_affordable(dict.fromkeys(rank for rank in in_turn if rank is not None), sizes))


def _affordable(ranks: Iterable[int], sizes: Mapping[int, int]) -> Iterator[int]:
    """Take ranks until their text is too much, and a few whatever it is."""
    total = 0
    for place, rank in enumerate(ranks):
        total += sizes[rank]
        if place >= _FEWEST and total > _MOST_BYTES:
            return
        yield rank


def _check_there(asked: Sequence[int], ranks: Sequence[int]) -> None:
    absent = sorted(set(asked) - set(ranks))
    if absent:
        raise InputError(
            f"no file is of rank {', '.join(map(str, absent))}",
            f"the files are of ranks {min(ranks)} to {max(ranks)}",
        )


def _on_path(model: Model, ranks: Ints) -> Ints:
    """Sum up how long the path is in the work of each rank, ns."""
    rows = find_stretches(model)
    own = np.flatnonzero((rows.event < 0) & (rows.gap_name == GAP_CODE[IN_SHORT]))
    rank = model.lanes.rank[model.segments.lane[rows.segment[own]]]
    return _summed(ranks, rank, rows.duration[own])


def _waiting(model: Model, ranks: Ints) -> tuple[Ints, Ints]:
    """Sum up how long the others wait for each rank as the last, and how long it waits itself, ns."""
    meetings = model.meetings
    if meetings is None or not len(meetings):
        return np.zeros(len(ranks), dtype=np.int64), np.zeros(len(ranks), dtype=np.int64)
    waits = meetings.rendezvous[meetings.member_of] - meetings.arrival
    rank = model.events.rank[meetings.event]
    last = rank[meetings.is_last][meetings.member_of]
    return _summed(ranks, last, waits), _summed(ranks, rank, waits)


def _summed(ranks: Ints, rank: Ints, values: Ints) -> Ints:
    found = np.zeros(len(ranks), dtype=np.int64)
    np.add.at(found, np.searchsorted(ranks, rank), values)
    return found


def _most(ranks: Ints, values: Ints, least: float) -> list[int]:
    """List the ranks of at least a value, the largest first."""
    order = np.argsort(-values, kind="stable")
    chosen: list[int] = ranks[order[values[order] >= least]].tolist()
    return chosen
