"""A simulated pipeline as traces of torch.profiler: one file a rank, with NCCL's sends and receives."""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.simulator.pipeline import COMPUTES, MEETS, RECEIVES, SENDS, Job, Rank, Stretch
from benchmarks.simulator.schedules import FORWARD

_BASE_NS = 1_000_000_000
"""When the job begins: traces of torch.profiler do not begin at 0."""
_SENT_ELEMENTS = 1024
_MESSAGE = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
_NORM = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
_COLLECTIVE = {SENDS: "send", RECEIVES: "recv"}
_HOST = 1
Entry = dict[str, object]


def write_job(job: Job, ranks: Sequence[Rank], folder: Path) -> list[Path]:
    """Write the file of each rank into a folder, which is made.

    Returns
    -------
    list
        The files, in the order of the ranks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, rank in enumerate(ranks):
        trace = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}],
            "distributedInfo": {"backend": "nccl", "rank": number, "world_size": job.stages},
            "traceEvents": list(_entries(job, number, rank)),
        }
        files.append(folder / f"rank{number}.json.gz")
        files[-1].write_bytes(gzip.compress(json.dumps(trace).encode(), mtime=0))
    return files


def _entries(job: Job, number: int, rank: Rank) -> Iterator[Entry]:
    thread = {"pid": 100 + number, "tid": _HOST}
    for step, (start, end) in enumerate(rank.steps):
        yield _entry(f"ProfilerStep#{step}", "user_annotation", start, end, thread)
    for one in rank.passes:
        # A pass for weights alone is one backward, too: it is what autograd's engine runs later.
        name = "forward" if one.one.what == FORWARD else "backward"
        yield _entry(name, "user_annotation", one.start, one.end, thread)
    launched = {id(kernel.launch): place for place, kernel in enumerate(rank.kernels, 1)}
    for place, call in enumerate(rank.calls, len(rank.kernels) + 1):
        correlation = launched.get(id(call), place)
        yield _entry(call.what, "cuda_runtime", call.start, call.end, thread, correlation=correlation)
    for place, kernel in enumerate(rank.kernels, 1):
        args = {"device": 0, "context": 1, "stream": kernel.stream, "correlation": place}
        gpu = {"pid": 0, "tid": kernel.stream}
        name = {COMPUTES: f"{kernel.one.what}_{kernel.one.chunk}", MEETS: _NORM}.get(kernel.what, _MESSAGE)
        stated = {} if kernel.what == COMPUTES else _stated(job, number, kernel)
        yield _entry(name, "kernel", kernel.start, kernel.end, gpu, **args, **stated)


def _stated(job: Job, number: int, kernel: Stretch) -> Entry:
    """State of a message, or of the reduction of all ranks, what PyTorch does."""
    if kernel.what == MEETS:
        ranks = json.dumps(list(range(job.stages)))
        of_all = {"Process Group Name": "0", "Process Group Ranks": ranks, "Group size": job.stages}
        data = {"In msg nelems": 1, "Out msg nelems": 1, "dtype": "Float"}
        return {"Collective name": "allreduce", **of_all, **data}
    sender, receiver = (number, kernel.peer) if kernel.what == SENDS else (kernel.peer, number)
    return {
        "Collective name": _COLLECTIVE[kernel.what],
        "Process Group Name": f"{kernel.one.what} {sender} to {receiver}",
        "Process Group Ranks": json.dumps(sorted((sender, receiver))),
        "Group size": 2,
        "In msg nelems": _SENT_ELEMENTS,
        "Out msg nelems": _SENT_ELEMENTS,
        "dtype": "BFloat16",
        **({"Dst Rank": receiver} if kernel.what == SENDS else {"Src Rank": sender}),
    }


def _entry(name: str, category: str, start: int, end: int, place: Entry, **args: object) -> Entry:
    times = {"ts": (_BASE_NS + start) / 1000, "dur": (end - start) / 1000}
    return {"ph": "X", "name": name, "cat": category, **place, **times, "args": args}
