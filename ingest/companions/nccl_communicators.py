"""Communicators and their channels, from the lines that NCCL logs while it makes them."""

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tracegraph.ingest.companions.companion import Row
from tracegraph.ingest.companions.log_lines import Line
from tracegraph.vocabulary.evidence import EVIDENCE

_VERSION = re.compile(r"NCCL version (\d+\.\d+\.\d+)")
_COMPLETE = re.compile(
    r"comm (?P<address>0x[0-9a-f]+) rank (?P<rank>\d+) n[rR]anks (?P<ranks>\d+) .*?"
    r"(?:commId (?P<id>0x[0-9a-f]+) )?- Init COMPLETE"
)
_NODES = re.compile(r"\bnNodes (\d+)\b")
_RING = re.compile(r"Channel (\d+)/\d+ :((?:\s+\d+)+)$")
_VIA = re.compile(r"Channel (\d+)(?:/\d+)? : \d+\[\w+\] -> \d+\[\w+\](?: \[\w+\])? via (\S+(?: \S+)?)")
_TREES = re.compile(r"\[(\d+)\] [-\d]+(?:/[-\d]+)*->(\d+)->(-?\d+)")
_CHANNELS = re.compile(r"(\d+) coll channels")
_NETWORK = re.compile(r"Using network (\S+)")
_INFINIBAND = re.compile(r"NET/IB : (No device found|Using)")
_NO_WAY: list[tuple[str | None, int]] = [(None, 0)]
_INFERRED_CONFIDENCE = 0.6
"""The confidence of communicators without an id, which are told apart by their sizes and their order. An
estimate (docs/communication.md): no log states the truth, and two may share size and order."""


@dataclass
class _Said:
    """What lines say of one communicator; `transports` counts connections by channel and transport."""

    nodes: int | None = None
    channels: int | None = None
    rings: dict[int, str] = field(default_factory=dict)
    trees: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    transports: Counter[tuple[int, str]] = field(default_factory=Counter)

    def add(self, other: "_Said") -> None:
        self.nodes = self.nodes or other.nodes
        self.channels = self.channels or other.channels
        self.rings.update(other.rings)
        for channel, parents in other.trees.items():
            self.trees[channel].update(parents)
        self.transports.update(other.transports)


@dataclass
class Communicator:
    """A communicator under its id, or under a name by its size and order; `processes` by rank."""

    id: str
    ranks: int
    is_stated: bool
    said: _Said = field(default_factory=_Said)
    processes: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def nodes(self) -> int | None:
        """The number of nodes, as stated, or by the hosts of its ranks where all are here."""
        if self.said.nodes is not None or len(self.processes) < self.ranks:
            return self.said.nodes
        return len({host for host, _ in self.processes.values()})


class CommunicatorLog:
    """Takes lines in their order and makes communicators of them.

    A thread that makes a communicator logs what it does before the line that completes it. What other threads
    log, as those that connect later, belongs to the communicator that their process completed last.
    """

    def __init__(self) -> None:
        self.version: str | None = None
        self._found: dict[str, Communicator] = {}
        self._by_address: dict[tuple[tuple[str, str], str], Communicator] = {}
        self._latest: dict[tuple[str, str], Communicator] = {}
        self._by_thread: dict[tuple[str, str, str], list[Communicator]] = defaultdict(list)
        self._pending: dict[tuple[str, str, str], _Said] = {}
        self._seen: Counter[tuple[int, int]] = Counter()
        self._network: dict[tuple[str, str], str] = {}
        self._infiniband: dict[tuple[str, str], bool] = {}
        self._late: list[tuple[Communicator, tuple[str, str, str], _Said]] = []

    def version_in(self, text: str) -> None:
        """Find the version of NCCL, which stands behind the prefix of a line or alone."""
        match = _VERSION.search(text)
        self.version = match[1] if match is not None else self.version

    def take(self, line: Line) -> bool:
        """Take a line, and tell whether it says something of communicators."""
        if (done := _COMPLETE.search(line.text)) is not None:
            self._complete(line, done)
            return True
        if (network := _NETWORK.search(line.text)) is not None:
            self._network[line.process] = network[1]
            return True
        if (device := _INFINIBAND.search(line.text)) is not None:
            present = device[1] == "Using" and "[0]" in line.text  # without cards it uses only `[RO]`
            self._infiniband[line.process] = self._infiniband.get(line.process, False) or present
            return True
        said = _said(line.text)
        if said is None:
            return False
        self._pending.setdefault(line.thread, _Said()).add(said)
        if (latest := self._latest.get(line.process)) is not None:
            self._late.append((latest, line.thread, said))
        return True

    def _complete(self, line: Line, done: re.Match[str]) -> None:
        rank, ranks = int(done["rank"]), int(done["ranks"])
        self._seen[ranks, rank] += 1
        name = done["id"] or f"number {self._seen[ranks, rank]} of {ranks} ranks"
        one = self._found.setdefault(name, Communicator(name, ranks, done["id"] is not None))
        one.processes[rank] = line.process
        if (said := self._pending.pop(line.thread, None)) is not None:
            one.said.add(said)
            self._late = [late for late in self._late if late[1] != line.thread]
        self._by_address[line.process, done["address"]] = one
        self._latest[line.process] = one
        self._by_thread[line.thread].append(one)

    def at(self, process: tuple[str, str], address: str) -> Communicator | None:
        """Return the communicator at an address in a process."""
        return self._by_address.get((process, address))

    def only(self, process: tuple[str, str]) -> Communicator | None:
        """Return the communicator of several ranks that a process is in, if that is one."""
        own = [one for one in self._found.values() if one.ranks > 1 and process in one.processes.values()]
        return own[0] if len(own) == 1 else None

    def made_in(self, thread: tuple[str, str, str]) -> list[Communicator]:
        """Return the communicators that a thread completed, in their order."""
        return self._by_thread[thread]

    def rows(self) -> list[Row]:
        """Return the properties of each communicator, those of most ranks first."""
        self._settle()
        ordered = sorted(self._found.values(), key=lambda one: -one.ranks)
        return [self._row(one) for one in ordered]

    def _settle(self) -> None:
        for one, _, said in self._late:
            one.said.add(said)
        self._late.clear()

    def _row(self, one: Communicator) -> Row:
        processes = one.processes.values()
        networks = sorted({self._network[p] for p in processes if p in self._network})
        cards = [self._infiniband[p] for p in processes if p in self._infiniband]
        return {
            "comm_id": one.id,
            "ranks": one.ranks,
            "members": len(one.processes),
            "nodes": one.nodes,
            "version": self.version,
            "channels": one.said.channels or len(one.said.rings) or None,
            "network": ", ".join(networks) or None,
            "infiniband": any(cards) if cards else None,
            "evidence": EVIDENCE[0 if one.is_stated else 1],
            "confidence": 1.0 if one.is_stated else _INFERRED_CONFIDENCE,
        }

    def channel_rows(self) -> list[Row]:
        """Return a row for each channel of a communicator and each transport in it."""
        self._settle()
        return [row for one in self._found.values() for row in _channels(one)]


def _said(text: str) -> _Said | None:
    """Read what a line says of the communicator that its thread makes; None if nothing."""
    if (ring := _RING.search(text)) is not None:
        return _Said(rings={int(ring[1]): json.dumps([int(rank) for rank in ring[2].split()])})
    if (via := _VIA.search(text)) is not None:
        return _Said(transports=Counter({(int(via[1]), via[2]): 1}))
    if text.startswith("Trees ") and (trees := _TREES.findall(text)):
        return _Said(trees={int(channel): {int(rank): int(up)} for channel, rank, up in trees})
    if (channels := _CHANNELS.search(text)) is not None:
        return _Said(channels=int(channels[1]))
    if (nodes := _NODES.search(text)) is not None:
        return _Said(nodes=int(nodes[1]))
    return None


def _channels(one: Communicator) -> list[Row]:
    said = one.said
    numbers = {*said.rings, *said.trees, *(channel for channel, _ in said.transports)}
    rows: list[Row] = []
    for number in sorted(numbers):
        ways: list[tuple[str | None, int]] = sorted(
            (way, count) for (channel, way), count in said.transports.items() if channel == number
        )
        for way, count in ways or _NO_WAY:
            parents = said.trees.get(number)
            rows.append(
                {
                    "comm_id": one.id,
                    "number": number,
                    "ring": said.rings.get(number),
                    "tree": json.dumps(dict(sorted(parents.items()))) if parents else None,
                    "transport": way,
                    "connections": count,
                }
            )
    return rows
