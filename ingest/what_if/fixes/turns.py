"""Do not share: turns of the GPU, the CPU or the GIL that other processes and threads had."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, told_ranks
from tracegraph.vocabulary.gaps import CPU_TURN, GAP_CODE, GPU_TURN, WAITING_FOR_GIL


@dataclass(frozen=True)
class _Kind:
    """Whose turns they are: what to do about them, what shows them, and how it is done."""

    title: str
    seen: str
    how: str


_KINDS: Mapping[str, _Kind] = {
    GPU_TURN: _Kind(
        "Give the process a GPU of its own",
        "the GPU of {ranks} seems to be shared, as another process has it {count:,} times",
        "nvidia-smi shows who shares the GPU; put one of them elsewhere",
    ),
    CPU_TURN: _Kind(
        "Give the threads CPUs of their own",
        "{count:,} times a thread could run and was kept off the CPU, on {ranks}",
        "fewer threads (OMP_NUM_THREADS) and workers, and own cores (taskset, numactl), keep threads on CPUs",
    ),
    WAITING_FOR_GIL: _Kind(
        "Move the other thread's Python to a process of its own",
        "{count:,} times a thread waits for the GIL, on {ranks}",
        "DataLoader workers or multiprocessing; or code that releases the GIL",
    ),
}


def _find(scene: Scene) -> Iterator[Candidate]:
    graph, segments, found = scene.graph, scene.graph.segments, scene.graph.dependencies
    for name, kind in _KINDS.items():
        code = GAP_CODE[name]
        stretches = (segments.kind != WORK) & (segments.gap_name == code)
        lags = found.binding & (found.gap > 0) & (graph.gap_name == code) & ~segments.on_thread[found.effect]
        lengths = np.append((segments.end - segments.start)[stretches], found.gap[lags])
        if lengths.sum() < scene.least_ns:
            continue
        lanes = np.append(segments.lane[stretches], segments.lane[found.effect[lags]])
        seen = kind.seen.format(ranks=told_ranks(graph, lanes), count=len(lengths))
        yield Candidate(
            selector=name,
            options=("--remove-wait", name),
            change=Change(np.ones(len(segments)), (code,)),
            evidence=f"{seen}: {short_ns(int(lengths.sum()))} in all, "
            f"{short_ns(int(np.median(lengths)))} in the median (inferred)",
            title=kind.title,
            how=kind.how,
        )


FIX = Fix(
    name="turns",
    title="Do not share the GPU, the CPU or the GIL",
    recognised="equal pauses of a GPU between works that were ready, threads that were held off the CPU, or "
    "that wait for the GIL",
    replayed="these gaps end at once (`--remove-wait`)",
    how="; ".join(kind.how for kind in _KINDS.values()),
    refuted_by="nobody else on the device (nvidia-smi), idle cores (top), or a GIL that is free (py-spy dump "
    "--gil) while the job runs",
    assumptions=("others can do elsewhere what they do in these turns",),
    find=_find,
)
