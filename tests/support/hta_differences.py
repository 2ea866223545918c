"""Where our numbers are not HTA's, and how a trace shows who is right: the one table of it.

`python tests/support/hta_differences.py > docs/differences_from_hta.md` writes the document. Tests that
have the traces check each row: the difference is there, it goes away by the rule of its id, and its figures
are those of the files.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

EVERY = "every feature"
"""Of rows about how HTA reads a file, which its options change."""


@dataclass(frozen=True)
class Difference:
    """A rule of HTA's that we do not follow.

    `where`: features, joined by blanks, and the traces in which they differ by it. `seen`: the figure that
    `evidence` is about, by trace.
    """

    id: str
    where: Mapping[str, str]
    hta: str
    tracegraph: str
    why: str
    evidence: str
    seen: Mapping[str, int] = field(default_factory=dict)

    def holds(self, feature: str, trace: str) -> bool:
        """Whether a feature differs by it in a trace."""
        return any(feature in names.split() and trace in of.split() for names, of in self.where.items())


_GPU_TABLES = "gpu_kernel_breakdown_all comm_comp_overlap"
_IDLE = "idle_time_breakdown idle_interval_stats"
_OF_ONE_RANK = "a4 a5 a6 b1 c1 c2 d1 d2 e1 e3 h1_h100 h1_mi300 h2 i1 i2_exec i3"
DIFFERENCES = (
    Difference(
        id="W1",
        where={EVERY: "a2 a4 a5 a6 e1 e3 h1_h100 h1_mi300 h2 i2_exec"},
        hta="rounding: begins up and ends down to whole µs, so that what takes less than 1 µs may take -1",
        tracegraph="ns as the file has them",
        why="what HTA cuts off becomes idle time. With HTA_DISABLE_NS_ROUNDING=1 there is no difference",
        evidence="GPU activities with times that are no whole µs",
        seen={
            **{"a2": 490, "a4": 3746, "a5": 3774, "a6": 914, "e1": 2375},
            **{"e3": 534, "h1_h100": 1707, "h1_mi300": 1517, "h2": 16, "i2_exec": 434},
        },
    ),
    Difference(
        id="S1",
        where={EVERY: "a3 a4 a5 c2 d1 h2 i3"},
        hta="step cut: where a file has several steps, the last one is left out",
        tracegraph="all of the file; `--step N` asks about one step",
        why="a choice. With include_last_profiler_step=True there is no difference but S2",
        evidence="rows of the CPU that begin with the last step or after it",
        seen={"a3": 8295, "a4": 1711, "a5": 7722, "c2": 20218, "d1": 5439, "h2": 2, "i3": 12046},
    ),
    Difference(
        id="S2",
        where={
            "temporal_breakdown": "a3 a4 i3",
            "kernel_type_breakdown": "a3 a4 i3",
            _GPU_TABLES: "a3 a4 i3",
            _IDLE: "a3 a4 i3",
            "memory_bw_summary": "a3 a4 i3",
        },
        hta="GPU activities whose launch call has no row are left out, if the file has several steps",
        tracegraph="all of them count, as in files of one step or none",
        why="they ran: launched before the recording began. What is left out counts as idle time",
        evidence="GPU activities whose correlation no other row has",
        seen={"a3": 356, "a4": 1028, "i3": 872},
    ),
    Difference(
        id="W3",
        where={"gpu_kernel_breakdown_top10": f"a1 a2 a3 {_OF_ONE_RANK}"},
        hta="with more than num_kernels names, mean, min, max and deviation are those of the sums by name",
        tracegraph="those of the kernels; `others` has no deviation, since it is none of one kernel",
        why="a kernel that ran twice for 1 µs has a mean of 1 µs, and HTA's own table of all names says so",
        evidence="kinds of kernels, by rank, with more than ten names",
        seen={"a1": 8, "a2": 2, "a3": 4, **dict.fromkeys(_OF_ONE_RANK.split(), 1)},
    ),
    Difference(
        id="W4",
        where={"gpu_kernel_breakdown_top10": "h2"},
        hta="duration_ratio cuts at a quantile of the running sums, which is a share of the rows",
        tracegraph="`top` names a kind are listed, here ten",
        why="with 11 names HTA lists nine, whatever their durations",
        evidence="kinds of kernels with more than ten names",
        seen={"h2": 1},
    ),
    Difference(
        id="W5",
        where={
            "temporal_breakdown": "a4",
            "kernel_type_breakdown": "a4",
            f"{_GPU_TABLES} gpu_kernel_breakdown_top10": "a4",
        },
        hta="every row with a stream runs on the GPU",
        tracegraph="rows of the categories kernel, gpu_memcpy and gpu_memset do",
        why="PyTorch writes `stream: 0` on operators that Triton compiled; they stand on a thread of the CPU",
        evidence="rows of the category cpu_op with a stream",
        seen={"a4": 1386},
    ),
    Difference(
        id="W6",
        where={"temporal_breakdown": "b1 b2"},
        hta="rows of cuda_sync are busy time of the GPU",
        tracegraph="they are waits of the host, no work",
        why="a stream that is waited for does nothing by that",
        evidence="rows of the category cuda_sync with a stream",
        seen={"b1": 41, "b2": 1},
    ),
    Difference(
        id="W9",
        where={"time_blocked_on_full_queue": "a2 a4 c2 i3"},
        hta="of the streams of a rank that reach the limit the last one is given",
        tracegraph="each is a row (`full_ns` of `queue_length`)",
        why="the table is a dictionary by rank, which is written again. Streams that fill up are left out",
        evidence="streams with a queue of eight or more that are left out",
        seen={"a2": 1, "a4": 1, "c2": 1, "i3": 1},
    ),
    Difference(
        id="S6",
        where={_IDLE: "a4 a6 i1 i3"},
        hta="idle time is counted since the end of the row before on the stream, also if it is negative",
        tracegraph="since the last of all ends on the stream, never below 0",
        why="a stream is not idle while earlier work still runs",
        evidence="GPU activities that begin before earlier ones of their stream have ended",
        seen={"a4": 48, "a6": 5, "i1": 1, "i3": 1},
    ),
    Difference(
        id="S8",
        where={"queue_length_summary": "a1 a3 c1 c2 d1 i1 i3"},
        hta="what happens at the same time on a stream is ordered by an unstable sort",
        tracegraph="launches come before begins",
        why="one as good as the other, but ours is the same each time; HTA's numbers lie between both orders",
        evidence="moments at which work is launched on a stream and other work begins there",
        seen={"a1": 6, "a3": 6, "c1": 1830, "c2": 323, "d1": 97, "i1": 70, "i3": 126},
    ),
    Difference(
        id="D1",
        where={
            "temporal_breakdown kernel_type_breakdown": "a3",
            "gpu_kernel_breakdown_all gpu_kernel_breakdown_top10": "a3",
            f"{_IDLE} queue_length_summary time_blocked_on_full_queue": "a3 h1_mi300",
        },
        hta="times of GPU and CPU as the file has them",
        tracegraph="GPU times that contradict the calls are moved by an offset and a drift",
        why="work follows its launch (see the query `traces`); the drift adds 15 and 17 ns to 1 ms in a3",
        evidence="activities that begin before their call, or end after the copy call that waits for them",
        seen={"a3": 320, "h1_mi300": 1},
    ),
    Difference(
        id="D2",
        where={"kernel_type_breakdown": "a2 a4 a5 a6 e1 e3 h1_h100 h1_mi300 h2 i2_exec"},
        hta="each stretch between two changes of what runs is cut to whole µs before they are added up",
        tracegraph="ns",
        why="up to 1 µs a stretch is lost, also where HTA reads ns",
        evidence="stretches of no whole number of µs",
        seen={
            **{"a2": 509, "a4": 4062, "a5": 4051, "a6": 962, "e1": 2374},
            **{"e3": 530, "h1_h100": 1702, "h1_mi300": 1513, "h2": 16, "i2_exec": 434},
        },
    ),
    Difference(
        id="D3",
        where={"idle_time_breakdown": "h1_h100", "idle_interval_stats": "h1_h100 h1_mi300"},
        hta="an activity without a launch call is taken for launched by the first row of the file",
        tracegraph="it has no launch: its idle time is never `host_wait`",
        why="when it was launched is not known; the first row of the file has nothing to do with it",
        evidence="GPU activities without a partner, whose partner is stored as row 0",
        seen={"h1_h100": 509, "h1_mi300": 463},
    ),
    Difference(
        id="D4",
        where={"queue_length_summary time_blocked_on_full_queue": "h1_mi300 i3"},
        hta="work counts that was launched by one of twelve calls",
        tracegraph="work with a call of its own counts, whatever the call's name",
        why="hipModuleLaunchKernel and a graph of one kernel queue work like any launch",
        evidence="GPU activities with a call of their own that is none of the twelve",
        seen={"h1_mi300": 24, "i3": 25},
    ),
    Difference(
        id="D5",
        where={"memory_bw_summary": "c2 d2"},
        hta="where a copy ends as another begins, both count as running (in an order that the sort decides)",
        tracegraph="ends come before begins",
        why="two copies in a row do not double the bandwidth",
        evidence="moments at which a copy ends and another of its kind begins",
        seen={"c2": 1, "d2": 117},
    ),
)
"""W: wrong in HTA. S: a choice of HTA's. D: a choice of ours."""

CHECKED_ELSEWHERE = (
    Difference(
        id="W13",
        where={"cuda_kernel_launch_stats": "a1 a2 a4 a6 e1 e3 h1_h100 h1_mi300 h2 i1 i2_exec i3"},
        hta="only the launches by four calls count; of HIP none",
        tracegraph="`launch_stats` has every call that launched work",
        why="of the calls that HTA knows all numbers are equal",
        evidence="GPU work launched by another call",
        seen={
            "a1": 960,
            "a2": 26,
            "a4": 2082,
            "a6": 50,
            "e1": 2375,
            "e3": 48,
            "h1_h100": 1,
            "h1_mi300": 1054,
            "h2": 16,
            "i1": 558,
            "i2_exec": 434,
            "i3": 345,
        },
    ),
    Difference(
        id="D1",
        where={"cuda_kernel_launch_stats aten_op_kernels_and_delay": "a3 h1_mi300"},
        hta="times of GPU and CPU as the file has them",
        tracegraph="GPU times that contradict the calls are moved, so launch delays are longer by that",
        why="with the offset and drift that the query `traces` states taken back, all numbers are equal",
        evidence="clock_offset_ns and clock_drift_ppb of the query `traces` (test_hta_operators)",
    ),
    Difference(
        id="S10",
        where={"frequent_cuda_kernel_sequences": "a3 c1 h1_h100 i1"},
        hta="of operators with the name those of the smallest depth in the call tree are read alone",
        tracegraph="all of them that no other of the name calls",
        why="how deep an operator is called says nothing about the kernels that it launches",
        evidence="operators of the name with three kernels at other depths (test_hta_operators)",
    ),
    Difference(
        id="W6",
        where={"frequent_cuda_kernel_sequences": "b1 b2"},
        hta="rows of cuda_sync are kernels of a pattern",
        tracegraph="kernels, copies and memsets are",
        why="a stream that is waited for launches nothing by that",
        evidence="rows of cuda_sync below the calls of the operator, as many as HTA has more kernels",
    ),
    Difference(
        id="S11",
        where={"frequent_cuda_kernel_sequences": "i3"},
        hta="the thread of autograd is hung below the steps of the main thread, and one step is kept",
        tracegraph="each thread has its own call tree, and all steps count",
        why="a pattern that runs in three steps is launched three times",
        evidence="the count is HTA's times the number of steps",
    ),
    Difference(
        id="W14",
        where={"aten_op_kernels_and_delay": "a3 d2 i3"},
        hta="operators are told by time alone, in the order of the file",
        tracegraph="`operator_launches` follows the call tree and time",
        why="of operators that begin or end in one µs the wrong one gets the launch, and a row that stands "
        "first in the file need not be the first launch",
        evidence="i3: 7 inner operators that begin with the outer one; a3: a call of no length as one "
        "ends, of which the file does not tell; d2: rows that are not in the order of time",
    ),
    Difference(
        id="W11",
        where={"profiler_steps": "a4", "trace_diff": "h1_h100 h1_mi300"},
        hta="the GPU's twin of a step's annotation takes part in looking up steps",
        tracegraph="a step is its annotation on the CPU",
        why="events of the CPU after a step's end count in it, as its twin ends later",
        evidence="events that begin between the end of the annotation and that of its twin (test_hta_diff)",
    ),
    Difference(
        id="W10",
        where={"trace_diff": "h1_mi300"},
        hta="GPU rows on stream 0 are lost: of an MI300 all of them",
        tracegraph="all of them count",
        why="on ROCm the default stream has the number 0",
        evidence="all GPU work of the file is on stream 0 (test_hta_diff)",
    ),
    Difference(
        id="D6",
        where={"trace_diff": "a2 a5 h1_h100 h1_mi300"},
        hta="annotations on the GPU count on the CPU, since their rows state no stream",
        tracegraph="they count on the GPU",
        why="their pid and tid are a device and a stream; of both devices together the numbers are equal",
        evidence="rows of gpu_user_annotation by device (test_hta_diff)",
    ),
    Difference(
        id="W7",
        where={"potential_stragglers": "a1 a2 a3"},
        hta="kernels whose names begin with ncclKernel are looked at: error with today's NCCL",
        tracegraph="all matched collectives count: who came last, and how long the others waited for it",
        why="a1: HTA with the names mended says rank 2 by one collective of 84; ranks 0 and 6 caused 94 % of "
        "all waiting. a2: error; rank 0. a3: rank 2 in both",
        evidence="last_rank and skew of the query `collectives`: test_hta_steps",
    ),
)
"""Rules by which tables differ that tests of their own compare: test_hta_operators, _steps, _diff."""

_HEAD = """\
# Where our numbers are not HTA's

This file is generated: `python tests/support/hta_differences.py > docs/differences_from_hta.md`.

Tables of Holistic Trace Analysis (HTA, version 0.6.1) were compared with ours on 21 real traces of A100,
V100, H100, B200, MI250, MI300 and other GPUs, of one rank and of up to eight. Where it can, HTA reads ns and
the last step for this (`HTA_DISABLE_NS_ROUNDING=1`, `include_last_profiler_step=True`). What is in no row
below is equal to what HTA prints.

A row is a rule of HTA's that we do not follow. Tests check each: a third program, of pandas alone, gives our
numbers from the rows of the file, and HTA's once it follows that rule, and the figures in the last column are
counted in the files. W is wrong in HTA, S a choice of HTA's, D a choice of ours.
"""

ON_OTHER_FILES = (
    Difference(
        id="W16",
        where={EVERY: "one of V100"},
        hta="µs as 64-bit floats",
        tracegraph="ns from the file's own digits",
        why="since 1970 there are so many µs that the float has steps of 0.25 µs",
        evidence="`ts` has 16 digits before the point, and there is no `baseTimeNanoseconds`: 6 of the 47 "
        "idle times that wait for the host are of another kind",
    ),
    Difference(
        id="W8",
        where={"memory_bw_summary": "another one of V100"},
        hta="what a sum of floats leaves behind counts as a bandwidth",
        tracegraph="whole numbers: nothing is left",
        why="a copy that ended has no bandwidth",
        evidence="bandwidths below 1e-9 GB/s: in one file 3,814 of 8,448",
    ),
    Difference(
        id="D7",
        where={"temporal_breakdown kernel_type_breakdown gpu_kernel_breakdown_all": "one of B200"},
        hta="`multimem_all_reduce_kernel` and other kernels of symmetric memory are computation",
        tracegraph="they are communication; a user's file can extend the table of kinds",
        why="they move data between GPUs",
        evidence="the name: 2,119 µs of 10,772 µs",
    ),
    Difference(
        id="S12",
        where={"gpu_kernel_breakdown_top10": "one of MI300"},
        hta="of names with the same sum, any is listed",
        tracegraph="they are in the order of their names",
        why="one as good as the other, but ours is the same each time",
        evidence="names with the sum of the last one listed",
    ),
)
"""Rules that were met on files beside those of the tests, by hand."""

_FURTHER = """\
## Files that were not among them

The same program was run by hand on 25 more files of 17 jobs: H100 with 8 ranks, A100, B200, V100, MI210,
MI300; training, serving, graphs. The rules above explain what differs there, but for these. HTA's diff of two
of them is equal to ours in all 432 rows.
"""


def ids_of(feature: str, trace: str) -> set[str]:
    """By which rules a feature differs in a trace."""
    return {one.id for one in DIFFERENCES if one.holds(feature, trace)}


def document() -> str:
    """The differences as Markdown."""
    listed = (_HEAD, _lines((*DIFFERENCES, *CHECKED_ELSEWHERE))), (_FURTHER, _lines(ON_OTHER_FILES))
    return "\n".join("\n".join([head, *lines, ""]) for head, lines in listed)


def _lines(differences: Iterable[Difference]) -> Iterator[str]:
    yield "| feature | traces | HTA | tracegraph | id and why | how it is seen in the file |"
    yield "|---|---|---|---|---|---|"
    for one in differences:
        for features, traces in _by_traces(one.where).items():
            counts = ", ".join(f"{name} {one.seen[name]:,}" for name in traces.split() if name in one.seen)
            evidence = f"{one.evidence}: {counts}" if counts else one.evidence
            cells = (features, traces, one.hta, one.tracegraph, f"**{one.id}** {one.why}", evidence)
            yield f"| {' | '.join(cells)} |"


def _by_traces(where: Mapping[str, str]) -> dict[str, str]:
    """The features that differ in the same traces, together, and those traces."""
    features: dict[str, list[str]] = {}
    for names, traces in where.items():
        features.setdefault(traces, []).extend([names] if names == EVERY else names.split())
    return {
        ", ".join(name if name == EVERY else f"`{name}`" for name in names): traces
        for traces, names in features.items()
    }


if __name__ == "__main__":
    print(document(), end="")
