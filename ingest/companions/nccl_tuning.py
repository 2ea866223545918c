"""NCCL's table of latency and bandwidth by operation, algorithm and protocol (subsystem TUNING)."""

import re

from tracegraph.ingest.companions.companion import Row
from tracegraph.ingest.companions.log_lines import Line
from tracegraph.ingest.companions.nccl_communicators import CommunicatorLog
from tracegraph.vocabulary import collectives
from tracegraph.vocabulary.collectives import stated_kind

_CELL = re.compile(r"^\s*([\d.]+)/\s*([\d.]+)\s*$")
_BOTH = re.compile(r"^\s*(\w+)/\s*(\w+)\s*$")
_NS_PER_US, _GIGA = 1_000, 1e9
_Ways = list[tuple[str, str]]


class TuningLog:
    """Takes the lines of tables in their order; rank 0 of a communicator logs one before it is complete."""

    def __init__(self, communicators: CommunicatorLog) -> None:
        self._communicators = communicators
        self._algorithms: dict[tuple[str, str, str], list[str]] = {}
        self._ways: dict[tuple[str, str, str], _Ways] = {}
        self._rows: list[tuple[tuple[str, str, str], int, Row]] = []

    def take(self, line: Line) -> bool:
        """Take a line, and tell whether it belongs to a table."""
        first, *cells = line.text.rstrip(" |").split("|")
        if not cells:
            return False
        head, thread = first.strip(), line.thread
        if head == "Algorithm":
            self._algorithms[thread] = [cell.strip().lower() for cell in cells]
        elif head == "Protocol":
            self._ways[thread] = _ways(self._algorithms.get(thread, []), cells)
        elif head == "Latency/AlgBw":  # before 2.19
            pairs = (_BOTH.match(cell) for cell in cells)
            self._ways[thread] = [(pair[1].lower(), pair[2].lower()) for pair in pairs if pair is not None]
        elif (kind := stated_kind(head)) is not None and thread in self._ways:
            place = len(self._communicators.made_in(thread))  # of the one that it completes next
            self._rows += [(thread, place, row) for row in _rows(kind, self._ways[thread], cells)]
        else:
            return head == "Max NThreads"
        return True

    def rows(self) -> list[Row]:
        """Return a row for each operation, algorithm and protocol that NCCL would use."""
        return [{**row, **self._of(thread, place)} for thread, place, row in self._rows]

    def _of(self, thread: tuple[str, str, str], place: int) -> Row:
        made = self._communicators.made_in(thread)
        if place >= len(made):
            return {}
        return {"comm_id": made[place].id, "ranks": made[place].ranks, "nodes": made[place].nodes}


def _ways(algorithms: list[str], cells: list[str]) -> _Ways:
    """Pair each algorithm with its protocols, which follow each other under it."""
    # NCCL heads a table of fewer algorithms with the protocols of three, too.
    each = min(len(cells) // max(1, len(algorithms)), len(collectives.PROTOCOLS))
    names = [cell.strip().lower() for cell in cells]
    return [
        (algorithm, names[place * each + k])
        for place, algorithm in enumerate(algorithms)
        for k in range(each)
    ]


def _rows(kind: str, ways: _Ways, cells: list[str]) -> list[Row]:
    rows: list[Row] = []
    for (algorithm, protocol), cell in zip(ways, cells, strict=False):
        match = _CELL.match(cell)
        if match is not None and float(match[2]) > 0:
            rows.append(
                {
                    "source": collectives.NCCL_TABLE,
                    "kind": kind,
                    "algorithm": algorithm,
                    "protocol": protocol,
                    "latency_ns": round(float(match[1]) * _NS_PER_US),
                    "bandwidth": float(match[2]) * _GIGA,
                }
            )
    return rows
