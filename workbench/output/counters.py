"""Counter tracks for Perfetto (events of ph `C`): what is queued on each stream, how fast copies are."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Raw

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.microseconds import literal_of_ns
from tracegraph.vocabulary.lane_kinds import STREAM
from tracegraph.workbench.findings.findings import Findings, Source
from tracegraph.workbench.output.uncorrected_times import times_on_file_clock
from tracegraph.workbench.sections.section import Parameters, Scope

QUEUES, BANDWIDTHS = "queue_length_series", "memory_bandwidth_series"
_ALL = 100_000_000
"""A limit of rows that no run reaches: counters are drawn in full."""
_BYTES_PER_GB = 1e9
Place = Mapping[str, int | str]


def counter_questions(scope: Scope) -> Mapping[str, Parameters]:
    """Name the queries whose rows are drawn, in full; none if nothing is drawn."""
    if not scope.drawn:
        return {}
    return {name: {**scope.between, "rank": None, "limit": _ALL} for name in (QUEUES, BANDWIDTHS)}


def counter_entries(findings: Findings, source: Source, place_of: Mapping[int, Place]) -> Iterator[bytes]:
    """Yield the JSON texts of a rank's counter events (ph `C`) at the file's times, track after track.

    A track has the unit in its name, which Perfetto makes from the names of the event and the argument.
    `place_of`: pid and tid of each lane as the file writes them; tracks of streams are beside their stream,
    those of copies beside the rank's first stream. Of several values at one moment the last is written.
    """
    streams = findings.lanes[findings.lanes["kind"].eq(STREAM) & findings.lanes["rank"].eq(source.rank)]
    if streams.empty:
        return
    for lane, rows in _of_rank(findings, QUEUES, source).groupby("lane", sort=False):
        stream = streams.set_index("lane").loc[lane]
        at_ns = times_on_file_clock(rows["at_ns"].to_numpy(np.int64), rows["begins"].to_numpy(bool), source)
        name = f"queue length, {stream['name']}"
        yield from _track(name, {"calls": rows["length"]}, at_ns, place_of[int(str(lane))])
    first = place_of[int(streams["lane"].min())]
    for kind, rows in _of_rank(findings, BANDWIDTHS, source).groupby("copy_kind", sort=False, observed=True):
        at_ns = times_on_file_clock(rows["at_ns"].to_numpy(np.int64), np.ones(len(rows), bool), source)
        yield from _track(f"{kind} bandwidth", {"GB/s": rows["bytes_per_s"] / _BYTES_PER_GB}, at_ns, first)


def _of_rank(findings: Findings, name: str, source: Source) -> pd.DataFrame:
    rows = findings.answers.get(name)
    if rows is None:
        return pd.DataFrame({"lane": [], "copy_kind": []})
    return rows[rows["rank"] == source.rank]


def _track(name: str, values: Mapping[str, "pd.Series[Any]"], at_ns: Ints, place: Place) -> Iterator[bytes]:
    ((unit, numbers),) = values.items()
    # If the file has work before its call, the order of the corrected clock holds.
    times: Ints = np.maximum.accumulate(at_ns)
    is_last = np.append(times[1:] != times[:-1], True)
    common = {"ph": "C", "cat": "counter", "name": name, **place}
    for at, value in zip(times[is_last].tolist(), numbers[is_last].tolist(), strict=True):
        yield msgspec.json.encode({**common, "ts": Raw(literal_of_ns(at).encode()), "args": {unit: value}})
