"""Ranks that a tool merged into one file: which rows belong to which rank, if that can be proved.

A rank is a process that launches GPU work of its own, with that work. Tools distinguish ranks by a tag before
each pid (`[TP00] 100`), or by pids and ids that they make unique, or they write one file after the other.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.sources.names import natural
from tracegraph.ingest.sources.rank_names import ranks_in_names
from tracegraph.ingest.text_columns import TextColumn, read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import GPU_WORK, NOT_IN_LANES, Role

_BRACKETS = re.compile(r"\s*\[([^\[\]]*\d[^\[\]]*)\]")
_RANK = re.compile(r"(?<![A-Za-z])rank[ _:#-]?(\d{1,6})(?!\d)", re.ASCII | re.IGNORECASE)
_NUMBERED = re.compile(r"r?(\d{1,6})[_:/|-]-?\d+", re.ASCII | re.IGNORECASE)
_PART = 0.01
"""A process with a smaller share of the CPU events is a by-product."""
# The share (0..1) of a rank's GPU work that its own calls must launch, and how few ranks are several.
_JOINED, _LEAST = 0.99, 2
# How few ids show no repetition, and the share (0..1) from which on ids that repeat show several processes.
_FEWEST_IDS, _MOST = 4, 0.5
_NONE = -1


@dataclass(frozen=True)
class Merged:
    """The ranks of one file.

    Attributes
    ----------
    of_row
        The rank of each row, as a position in `numbers`, -1 for none; None if nothing proves it.
    numbers, names
        The number of each rank, and what the file calls it.
    how
        What distinguishes the ranks, for a message.
    """

    of_row: Ints | None
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    how: str


@dataclass(frozen=True)
class _Rows:
    """The columns of the events that are used here."""

    pid: TextColumn
    on_cpu: Flags
    work: Flags
    calls: Flags
    id: Ints
    """Correlation, else the external id, made negative; 0 for none."""
    name: Ints
    """A number for each name."""
    start: Ints
    place: Ints


def stated_ranks(trace: TraceFile) -> Merged | None:
    """Return the ranks of a file whose format states of each process which rank it is, None for any other."""
    if len(trace.rank_of) < _LEAST:
        return None
    names = sorted(trace.rank_of, key=lambda pid: trace.rank_of[pid])
    pid = read_texts(trace.events["pid"])
    place = {name: k for k, name in enumerate(names)}
    of_pid = np.array([place.get(str(text), _NONE) for text in pid.values], dtype=np.int64)
    return Merged(of_pid[pid.codes], tuple(trace.rank_of[name] for name in names), tuple(names), "")


def find_merged(trace: TraceFile) -> Merged | None:
    """Find the ranks of a file that holds several, None for any other file."""
    rows = _read(trace.events)
    tags = {pid: _tag(pid, trace.process_names.get(pid, "")) for pid in map(str, rows.pid.values)}
    large = _large(rows)
    tagged = [tags[pid] for pid in large if tags[pid] is not None]
    if len(tagged) == len(large) and len(set(tagged)) >= _LEAST:
        names = sorted({str(tag) for tag in tagged}, key=natural)
        code = {name: k for k, name in enumerate(names)}
        of_pid = np.array([code.get(str(tags[str(pid)]), _NONE) for pid in rows.pid.values], dtype=np.int64)
        return _checked(rows, of_pid[rows.pid.codes], _numbers(names), names, "the tags of their processes")
    hosts = [pid for pid in large if _launches(rows, pid)]
    if len(hosts) == 1 and _is_doubled(rows, hosts[0]):
        return Merged(None, (), tuple(hosts), "")
    if len(hosts) < _LEAST:
        return None
    return _by_ids(rows, hosts) or _by_blocks(rows, hosts) or _unproved(hosts)


def _read(events: pa.Table) -> _Rows:
    category = read_texts(events["category"])
    work = with_role(category, *GPU_WORK)
    correlation, external = (events[name].fill_null(0).to_numpy() for name in ("correlation", "external_id"))
    return _Rows(
        pid=read_texts(events["pid"]),
        on_cpu=~(work | with_role(category, *NOT_IN_LANES, Role.OVERHEAD)),
        work=work,
        calls=with_role(category, Role.CALL),
        id=np.where(correlation > 0, correlation, np.where(external > 0, -external, 0)),
        name=read_texts(events["name"]).codes.astype(np.int64),
        start=events["start_ns"].to_numpy(),
        place=events["source_index"].to_numpy(),
    )


def _tag(pid: str, name: str) -> str | None:
    """Find the tag that a tool added to a process to state its rank; None if there is none."""
    for text in (pid, name):
        if found := _BRACKETS.match(text) or _RANK.search(text):
            return found[0].strip() if found.re is _RANK else found[1]
    return f"rank {found[1]}" if (found := _NUMBERED.fullmatch(pid)) else None


def _large(rows: _Rows) -> list[str]:
    """List the processes with a good part of the CPU events, or with GPU work."""
    size = len(rows.pid.values)
    on_cpu = np.bincount(rows.pid.codes[rows.on_cpu], minlength=size)
    work = np.bincount(rows.pid.codes[rows.work], minlength=size)
    chosen = (on_cpu >= max(1, _PART * on_cpu.sum())) | (work > 0)
    return [str(rows.pid.values[code]) for code in np.flatnonzero(chosen)]


def _launches(rows: _Rows, pid: str) -> bool:
    """Tell whether a process makes calls with ids that GPU work of the file has."""
    mine = rows.calls & rows.pid.among(pid) & (rows.id != 0)
    return bool(np.isin(rows.id[mine], rows.id[rows.work & (rows.id != 0)]).any())


def _is_doubled(rows: _Rows, host: str) -> bool:
    """Tell whether a process seems to be several: most ids return long before all of them were used.

    Ids that a runtime uses again come back after all others; those of several ranks with one pid come back at
    the same times.
    """
    mine = np.flatnonzero(rows.calls & rows.pid.among(host) & (rows.id != 0))
    mine = mine[np.argsort(rows.start[mine], kind="stable")]
    keys = pd.factorize(rows.id[mine])[0] * (int(rows.name.max(initial=0)) + 1) + rows.name[mine]
    _, counts = np.unique(keys, return_counts=True)
    if len(counts) < _FEWEST_IDS or (counts > 1).mean() < _MOST:
        return False
    order = np.argsort(keys, kind="stable")
    again = keys[order][1:] == keys[order][:-1]
    return bool(np.median(np.diff(order)[again]) < _MOST * len(counts))


def _numbers(names: list[str]) -> tuple[int, ...]:
    """Return the ranks that tags state, else their places in order."""
    told = [rank for rank in ranks_in_names(names) if rank is not None]
    return tuple(told) if len(set(told)) == len(names) else tuple(range(len(names)))


def _checked(
    rows: _Rows, of_row: Ints, numbers: tuple[int, ...], names: list[str], how: str
) -> Merged | None:
    """Make the ranks of rows, without proof if a rank lacks CPU events or did not launch its GPU work."""
    used = np.unique(of_row[of_row >= 0])
    if len(used) < _LEAST:
        return None
    proved = all(_stands_alone(rows, of_row == rank) for rank in used)
    return Merged(of_row if proved else None, numbers, tuple(names), how)


def _stands_alone(rows: _Rows, mine: Flags) -> bool:
    """Tell whether rows are a rank's: on a CPU, and with the calls of nearly all GPU work that has an id."""
    if not (mine & rows.on_cpu).any():
        return False
    work = np.flatnonzero(mine & rows.work & (rows.id != 0))
    calls = np.flatnonzero(mine & rows.on_cpu & (rows.id != 0))
    return not len(work) or not len(calls) or bool(_begun(rows, work, calls).mean() >= _JOINED)


def _begun(rows: _Rows, work: Ints, calls: Ints) -> Flags:
    """Flag the activities that have a call of their id among `calls`, whose first call began before them."""
    calls = calls[np.lexsort((rows.start[calls], rows.id[calls]))]
    place = np.searchsorted(rows.id[calls], rows.id[work]).clip(max=len(calls) - 1)
    found: Flags = (rows.id[calls][place] == rows.id[work]) & (rows.start[calls][place] <= rows.start[work])
    return found


def _by_ids(rows: _Rows, hosts: list[str]) -> Merged | None:
    """Give each device's process to the one process whose calls launched its work.

    Their ids prove it: no other process has them. None if they do not.
    """
    calls = {host: np.flatnonzero(rows.calls & rows.pid.among(host) & (rows.id != 0)) for host in hosts}
    of_pid = np.full(len(rows.pid.values), _NONE, dtype=np.int64)
    for k, host in enumerate(hosts):
        of_pid[rows.pid.values == host] = k
    for code in np.unique(rows.pid.codes[rows.work]).tolist():
        work = np.flatnonzero(rows.work & (rows.pid.codes == code) & (rows.id != 0))
        shares = [_begun(rows, work, calls[host]).mean() if len(work) else 0.0 for host in hosts]
        owners = [k for k, share in enumerate(shares) if share > 0]
        if len(owners) != 1 or of_pid[code] not in (_NONE, owners[0]):
            return None
        of_pid[code] = owners[0]
    of_row = of_pid[rows.pid.codes]
    if len(np.unique(of_row[rows.work])) < len(hosts):
        return None
    order = sorted(range(len(hosts)), key=lambda k: natural(hosts[k]))
    rank = np.append(np.argsort(order), _NONE)
    names = [hosts[k] for k in order]
    return _proved(
        _checked(rows, rank[of_row], tuple(range(len(hosts))), names, "ids that only one of them has")
    )


def _by_blocks(rows: _Rows, hosts: list[str]) -> Merged | None:
    """Take the ranks of files written one after the other: a process, its GPU work, the next process."""
    spans = {host: rows.place[rows.on_cpu & rows.pid.among(host)] for host in hosts}
    order = sorted(hosts, key=lambda host: int(spans[host].min()))
    first = np.array([spans[host].min() for host in order])
    last = np.array([spans[host].max() for host in order])
    if (first[1:] < last[:-1]).any():
        return None
    of_row = np.searchsorted(first, rows.place, "right") - 1
    others = rows.on_cpu & ~rows.pid.among(*hosts)
    of_row = np.where(others | (of_row < 0), _NONE, of_row)
    ids = [np.unique(rows.id[rows.work & (of_row == k)]) for k in range(len(order))]
    if not all(len(mine) for mine in ids):
        return None
    return _proved(
        _checked(rows, of_row, tuple(range(len(order))), order, "the order in which they were written")
    )


def _proved(found: Merged | None) -> Merged | None:
    return found if found is not None and found.of_row is not None else None


def _unproved(hosts: list[str]) -> Merged:
    """Return the ranks without proof: several processes launched work, and nothing shows which did what.

    That is only so if they share a stream's row, or ids. A process beside others that each have a device of
    their own was proved before.
    """
    return Merged(None, (), tuple(hosts), "")
