"""Do not share: turns of the GPU or the CPU that other processes and threads had."""

from collections.abc import Iterator, Mapping

import numpy as np

from tracegraph.ingest.causal.segments import WORK
from tracegraph.ingest.what_if.change import Change
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.store.gaps import CPU_TURN, GAP_CODE, GPU_TURN
from tracegraph.store.units import told

_TITLES: Mapping[str, str] = {
    GPU_TURN: "Give the process a GPU of its own",
    CPU_TURN: "Give the threads CPUs of their own",
}


def _find(scene: Scene) -> Iterator[Candidate]:
    graph, segments, found = scene.graph, scene.graph.segments, scene.graph.dependencies
    for name, title in _TITLES.items():
        code = GAP_CODE[name]
        stretches = (segments.kind != WORK) & (segments.gap_name == code)
        lags = found.binding & (found.gap > 0) & (graph.gap_name == code) & ~segments.on_thread[found.effect]
        lengths = np.append((segments.end - segments.start)[stretches], found.gap[lags])
        if lengths.sum() < scene.least_ns:
            continue
        whose = "another process has the GPU" if name == GPU_TURN else "a thread that could run does not"
        yield Candidate(
            selector=name,
            options=("--remove-wait", name),
            change=Change(np.ones(len(segments)), (code,)),
            evidence=f"{len(lengths):,} times {whose}, {told(int(np.median(lengths)))} in the middle, "
            f"{told(int(lengths.sum()))} in all (inferred)",
            title=title,
        )


FIX = Fix(
    name="turns",
    title="Do not share the GPU or the CPU",
    recognised="equal pauses of a GPU between works that were ready, or threads that were held off the CPU",
    replayed="these gaps end at once (`--remove-wait`)",
    how="nvidia-smi shows who shares the GPU; fewer threads (OMP_NUM_THREADS) and workers, and own cores "
    "(taskset, numactl) keep threads on the CPU",
    refuted_by="nobody else on the device (nvidia-smi), or idle cores (top) while the job runs",
    assumptions=("whoever has these turns can go elsewhere",),
    find=_find,
)
