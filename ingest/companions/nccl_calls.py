"""NCCL's calls: what rank 0 chose for each (subsystem TUNING), and what every rank called (COLL)."""

import re
from collections import Counter

from tracegraph.ingest.companions.companion import Row
from tracegraph.ingest.companions.log_lines import Line
from tracegraph.ingest.companions.nccl_communicators import Communicator, CommunicatorLog
from tracegraph.vocabulary import collectives
from tracegraph.vocabulary.collectives import KIND, stated_kind

_CHOICE = re.compile(
    r"(\w+): (\d+) Bytes -> Algo (\w+) proto (\w+)(?: channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\})?"
)
_CALL = re.compile(
    r"(\w+): opCount [0-9a-f]+ .*?\bcount (\d+) datatype (\d+) .*?\bcomm (0x[0-9a-f]+)(?: \[nranks=(\d+)\])?"
)
_ELEMENT_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
"""Bytes of an element by the number of its type (NCCL 2.29, src/nccl.h.in, ncclDataType_t)."""
_Key = tuple[str, int, str | None, str | None, int | None]


class CallLog:
    """Counts calls by communicator, operation and size, and by the choice where the line states one."""

    def __init__(self, communicators: CommunicatorLog) -> None:
        self._communicators = communicators
        self._choices: Counter[tuple[tuple[str, str], _Key]] = Counter()
        self._calls: Counter[tuple[tuple[str, str], str, int | None, _Key]] = Counter()

    def take(self, line: Line) -> bool:
        """Take a line, and tell whether it is that of a call."""
        if (choice := _CHOICE.search(line.text)) is not None:
            kind = stated_kind(choice[1])
            if kind is None:
                return False
            algorithm = _named(choice[3], collectives.ALGORITHMS)
            protocol = _named(choice[4], collectives.PROTOCOLS)
            channels = int(choice[6]) - int(choice[5]) + 1 if choice[5] is not None else None
            self._choices[line.process, (kind, int(choice[2]), algorithm, protocol, channels)] += 1
            return True
        call = _CALL.search(line.text)
        if call is None or (kind := stated_kind(call[1])) is None or int(call[3]) >= len(_ELEMENT_BYTES):
            return False
        moved = int(call[2]) * _ELEMENT_BYTES[int(call[3])]
        ranks = None if call[5] is None else int(call[5])
        self._calls[line.process, call[4], ranks, (kind, moved, None, None, None)] += 1
        return True

    def rows(self) -> list[Row]:
        """Return a row for each kind and size of call; COLL counts the call of each rank."""
        rows: Counter[tuple[str, str | None, int | None, int | None, _Key]] = Counter()
        for (process, key), count in self._choices.items():
            one = self._communicators.only(process)
            rows[(collectives.NCCL_CHOICES, *_of(one, None), key)] += count
        for (process, address, ranks, key), count in self._calls.items():
            one = self._communicators.at(process, address)
            of = _of(one, ranks)
            rows[(collectives.NCCL_CALLS, *of, _whole(key, of[1]))] += count
        return [
            {
                "source": source,
                "comm_id": comm_id,
                "ranks": ranks,
                "nodes": nodes,
                **dict(zip(("kind", "bytes", "algorithm", "protocol", "channels"), key, strict=True)),
                "count": count,
            }
            for (source, comm_id, ranks, nodes, key), count in rows.items()
        ]


def _of(one: Communicator | None, ranks: int | None) -> tuple[str | None, int | None, int | None]:
    return (None, ranks, None) if one is None else (one.id, one.ranks, one.nodes)


def _whole(key: _Key, ranks: int | None) -> _Key:
    """Count the data of the whole operation, as NCCL's tests do, where the call counts a rank's part."""
    kind, moved, algorithm, protocol, channels = key
    # A reduce_scatter counts what each rank gets, which is its part of the whole.
    of_each = 1.0 if ranks is None else float(ranks) if kind == "reduce_scatter" else KIND[kind].whole(ranks)
    return kind, round(moved * of_each), algorithm, protocol, channels


def _named(text: str, names: tuple[str, ...]) -> str:
    """Name an algorithm or protocol, of which older versions write the number."""
    return names[int(text)] if text.isdigit() and int(text) < len(names) else text.lower()
