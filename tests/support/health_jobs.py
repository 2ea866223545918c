"""Small jobs for tests of `health`: ranks that load, compute and reduce, with at most one fault."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from tiny import Row, call, event, kernel, step, trace

from tracegraph.ingest.health.job_health import JobHealth, compare
from tracegraph.ingest.health.rank_health import RankHealth, look_at
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.trace import MEMORY_SCHEMA, TraceFile

_ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
_LAYERS, _CAPACITY = 24, 80 * 10**9


@dataclass(frozen=True)
class Plan:
    """What a job does in each step; times in µs. The defaults are a job without a fault."""

    seed: int = 0
    ranks: int = 2
    steps: int = 7
    loader: float = 40
    launch: float = 8
    kernel: float = 60
    transfer: float = 120
    sync_every: int = _LAYERS
    pause: float = 0
    late: float = 0
    slow_steps: float = 1
    memory: float = 0.7


@dataclass
class _Rank:
    rows: list[Row] = field(default_factory=list)
    host: float = 0
    gpu: float = 0
    network: float = 0
    correlation: int = 0

    def launch(self, name: str, length: float, pace: float) -> None:
        self.correlation += 1
        self.rows.append(event("aten::mm", self.host, self.host + pace))
        self.rows.append(call("cudaLaunchKernel", self.host + 1, self.host + pace - 1, self.correlation))
        begin = max(self.host + pace + 3, self.gpu + 1)
        self.rows.append(kernel(name, begin, begin + length, self.correlation))
        self.gpu, self.host = begin + length, self.host + pace

    def wait(self) -> None:
        self.correlation += 1
        begin, self.host = self.host, max(self.host + 5, self.gpu + 4)
        self.rows.append(call("cudaDeviceSynchronize", begin, self.host, self.correlation))

    def spend(self, name: str, length: float) -> None:
        self.rows.append(event(name, self.host, self.host + length))
        self.host += length


def make_job(plan: Plan) -> JobHealth:
    """Simulate a job and look at it, as at files that were read."""
    draw = random.Random(plan.seed)
    ranks = [_Rank() for _ in range(plan.ranks)]
    for number in range(plan.steps):
        begins = [rank.host for rank in ranks]
        slow = plan.slow_steps if number % 3 == 1 else 1.0
        for place, rank in enumerate(ranks):
            rank.spend("enumerate(DataLoader)#_Iter.__next__", plan.loader * draw.uniform(0.9, 1.1))
            for layer in range(_LAYERS):
                rank.launch("sgemm", plan.kernel * slow * draw.uniform(0.95, 1.05), plan.launch)
                if (layer + 1) % plan.sync_every == 0 and layer + 1 < _LAYERS:
                    rank.wait()
                if layer == _LAYERS // 2:
                    rank.spend("augment", plan.pause)
                    rank.spend("augment", plan.late * (place == plan.ranks - 1))
        if plan.ranks > 1:
            _reduce(ranks, plan.transfer * draw.uniform(0.95, 1.05), number)
        for rank, begin in zip(ranks, begins, strict=True):
            rank.wait()
            rank.rows.append(step(number, begin, rank.host))
    return compare([_look_at(_file(rank.rows, place, plan)) for place, rank in enumerate(ranks)])


def _reduce(ranks: Sequence[_Rank], transfer: float, number: int) -> None:
    """Let the ranks meet after their last kernel: all leave together, a transfer after the last one came."""
    arrivals = []
    for rank in ranks:
        rank.correlation += 1
        rank.rows.append(call("cudaLaunchKernel", rank.host, rank.host + 5, rank.correlation))
        arrivals.append(max(rank.host + 8, rank.gpu + 1))
    leave = max(arrivals) + transfer
    for rank, arrival in zip(ranks, arrivals, strict=True):
        stated = {"group": "0", "group_ranks": str(list(range(len(ranks)))), "group_sequence": number}
        rank.rows.append(kernel(_ALL_REDUCE, arrival, leave, rank.correlation, stream=20, **stated))
        rank.host, rank.gpu = rank.host + 5, leave


def _file(rows: Sequence[Row], rank: int, plan: Plan) -> TraceFile:
    used = round(plan.memory * _CAPACITY)
    fixed = {"pid": "1", "tid": "1", "device_type": 1, "device": 0, "reserved": _CAPACITY}
    memory = [
        {"source_index": 10**6, "at_ns": 1, "bytes": used, "allocated": used, **fixed},
        {"source_index": 10**6 + 1, "at_ns": 2, "bytes": -10, "allocated": used - 10, **fixed},
    ]
    return replace(
        trace(*rows),
        path=f"rank{rank}.json",
        sha256=f"{rank:064}",
        rank=rank,
        world_size=plan.ranks,
        device_memory=[_CAPACITY],
        memory=pa.Table.from_pylist(memory, MEMORY_SCHEMA),
    )


def _look_at(file: TraceFile) -> RankHealth:
    return look_at(file, Integrity(file.path), IngestOptions(compared=False))
