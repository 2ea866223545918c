"""What to try next: fixes, and rules over the findings, each with its threshold and what triggered it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tracegraph.vocabulary.bounds import LEAST_GAIN
from tracegraph.workbench.findings import metrics, untraced_time
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import Row, said_gain, what_to_change
from tracegraph.workbench.findings.metrics import Measured
from tracegraph.workbench.findings.mixed_ranks import ADVICE, mixed_share
from tracegraph.workbench.findings.verdict import Verdict, judge


@dataclass(frozen=True)
class Rule:
    """A rule: it triggers if the share (0..1) that `measure` returns reaches `threshold` or demands it.

    `kind`: a part of the code to look into, what to change, what is only a symptom, or how far to trust the
    answer. `fixes`: names of fixes that say the same with their gain; if one of them is shown, it replaces
    the rule.
    """

    code: str
    title: str
    threshold: float
    measure: Callable[[Findings], Measured | None]
    advice: str
    kind: Literal["part", "change", "symptom", "trust"] = "change"
    fixes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recommendation:
    """A fix with its gain, or a rule that triggered.

    `number` says what was measured, `share` is what was compared to `threshold`: for a fix its gain, and the
    least share of the run that a fix has to gain. `fix`: its row of `fixes`; None for a rule.
    """

    code: str
    title: str
    number: str
    share: float
    threshold: float
    advice: str
    fix: Row | None = None


_KINDS = ("part", "change", "symptom", "trust")
"""The kinds of rules in the order in which they are listed."""
_MIXED_RANKS = Rule("mixed-ranks", "Ranks are mixed in one file", 0.1, metrics.mixed_ranks, ADVICE)
RULES = (
    Rule(
        "named-work",
        "One part of the code holds much of the path",
        0.15,
        metrics.named_work,
        "Look inside it (Where in my code), then make it cheaper, do it less often or ahead of time, or move "
        "it to another process; `tracegraph what-if` predicts what any part of it would gain.",
        kind="part",
    ),
    Rule(
        "data-loading",
        "Data loading is on the critical path",
        0.05,
        metrics.data_loading,
        "Try more DataLoader workers, pin_memory=True, a larger prefetch_factor, or cheaper transforms.",
        fixes=("prefetch",),
    ),
    Rule(
        "communication",
        "Communication is on the critical path",
        0.10,
        metrics.communication,
        "Try overlapping it with computation, larger buckets, or fewer and larger collectives. Of one "
        "rank alone, the time of a collective's kernel includes the wait for slower ranks.",
        fixes=("overlap", "coalesce"),
    ),
    Rule(
        "straggler",
        "The others wait for one rank",
        0.05,
        metrics.straggler,
        "Look at what it is late by (Ranks, Ranks compared), and make it as on the other ranks: its data, "
        "its machine, or work that only it does. `tracegraph what-if` predicts the gain: `--no-stragglers` "
        "for host work, `--remove-wait NAME` for a wait that makes it late. That is never `waiting for "
        "another rank`: who comes last waits for none.",
        fixes=("balance",),
    ),
    Rule(
        "rank-wait",
        "Waiting for another rank is on the critical path",
        0.05,
        metrics.rank_waits,
        "Look at the slowest rank: report on each rank's trace and compare their steps and data loading. The "
        "wait is inferred: it is what a collective lasts beyond the time that its transfer can take.",
    ),
    Rule(
        "synchronization",
        "The path returns from the GPU to the CPU at synchronisations",
        0.05,
        metrics.synchronization,
        "Look for .item(), .cpu(), .tolist(), printed tensors, nonzero() or torch.cuda.synchronize() in the "
        "step; keep values on the GPU, or read them less often and with non_blocking=True.",
        fixes=("unsync",),
    ),
    Rule(
        "launch-overhead",
        "Launching GPU work is on the critical path",
        0.10,
        metrics.launch_overhead,
        "Try CUDA graphs, torch.compile (also mode='reduce-overhead'), fused optimizers, or larger batches.",
        fixes=("capture",),
    ),
    Rule(
        "slow-launches",
        "Few launching calls take much of the path",
        0.10,
        metrics.slow_launches,
        "The first launch of a kernel loads its code: warm up before the recording "
        "(torch.profiler.schedule), or load it ahead (CUDA_MODULE_LOADING=EAGER). A launch blocks, too, "
        "where the queue of its stream is full.",
        fixes=("warm-up",),
    ),
    Rule(
        "thread-hand-over",
        "Threads wait for each other",
        0.05,
        metrics.thread_hand_over,
        "Look at what the other thread runs meanwhile; move work that holds the GIL to a process of its own "
        "(DataLoader workers, multiprocessing). The trace records no GIL and no queue: compare the other "
        "assumptions.",
        fixes=("turns",),
    ),
    Rule(
        "idle-gpu",
        "The GPU is idle for much of the window",
        0.30,
        metrics.idle_gpu,
        "The gaps and the CPU rows of the critical path name what it waits for.",
        kind="symptom",
    ),
    Rule(
        "busy-gpu",
        "Work on the path waits while its GPU runs something else",
        0.05,
        metrics.busy_gpu,
        "Look at what the other streams run in these gaps: kernels that fill the GPU hold back those of the "
        "path. Try stream priorities, or launch what the path needs first.",
    ),
    Rule(
        "unrecorded-graphs",
        "Some work of CUDA graphs was not recorded",
        0.05,
        metrics.unrecorded_graphs,
        "The file holds only some kernels of its graph launches. Record a step without graphs to see which "
        "kernels this time belongs to.",
        kind="trust",
    ),
    Rule(
        "missing-work",
        "Work on the path is not in the file",
        0.05,
        metrics.missing_work,
        "Nobody can say what it costs. Record again, from a synchronise on and for whole steps, with larger "
        "buffers or fewer steps; of several ranks over the same steps.",
        kind="trust",
    ),
    Rule(
        "cpu-bound",
        "Most of the path is on the CPU",
        0.50,
        metrics.cpu_bound,
        "Faster kernels can gain at most the rest. Shorten the CPU rows at the top of the hotspots, or give "
        "the GPU more work for each call.",
        kind="symptom",
    ),
    Rule(
        "cpu-or-gpu",
        "The file does not show whether the CPU or the GPU determines the length",
        0.75,
        metrics.cpu_or_gpu,
        "Long work of a thread beside a busy GPU may be a wait for it that no rule can show. Record the "
        "calls of the GPU's runtime and the threads that launch, or look with a sampling profiler where the "
        "thread is (py-spy dump --native).",
        kind="trust",
    ),
    Rule(
        "cpu-turns",
        "Threads on the path were held off the CPU",
        0.05,
        metrics.cpu_turns,
        "More threads want to run than there are cores: look for the limit of the container, for other "
        "processes on the machine and for large thread pools (torch.set_num_threads, num_workers).",
        fixes=("turns",),
    ),
    Rule(
        "untraced-python",
        "Much of the path is Python that was not recorded",
        0.10,
        untraced_time.python,
        "Record with with_stack=True (torch.profiler.profile(with_stack=True)): then this time has names.",
        kind="trust",
    ),
    Rule(
        "untraced-code",
        "Much of the path was not recorded, although Python was",
        0.10,
        untraced_time.code,
        "It may be C++ code without operators, Python of threads that the profiler did not follow, or a "
        "pause of the profiler itself. Mark it with torch.profiler.record_function, or look at it with a "
        "sampling profiler that sees native code (py-spy record --native, perf).",
        kind="trust",
    ),
    Rule(
        "silent-beside-gpu",
        "A thread is silent on the path while the GPU works",
        0.10,
        untraced_time.beside_gpu,
        "It probably waited for the GPU in a call that was not recorded: look at where it waits, such as a "
        "read (.item(), .cpu()) in code without an operator, and record the calls of the CUDA runtime, too.",
        fixes=(
            "unsync",
            "silences",
        ),
    ),
    Rule(
        "idle",
        "Nothing was recorded on any lane for much of the path",
        0.10,
        untraced_time.idle,
        "The process may have waited for something outside the trace (requests, input, another process, "
        "I/O): give it work, or look at what it waits for. Unless Python functions were recorded "
        "(with_stack=True), it may as well be code without operators, such as NumPy or "
        "the decoding of images.",
        fixes=("silences",),
    ),
    Rule(
        "copies",
        "Copies between host and GPU are on the critical path",
        0.05,
        metrics.copies,
        "Try pinned memory with non_blocking=True, or a copy on its own stream ahead of time.",
        fixes=("ahead",),
    ),
    Rule(
        "allocation",
        "Allocating GPU memory is on the critical path",
        0.02,
        metrics.allocation,
        "cudaMalloc and cudaFree synchronise. Warm up first; keep shapes steady; see "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
        fixes=("allocation",),
    ),
    Rule(
        "top-kernel",
        "One kernel takes much of the path",
        0.15,
        metrics.top_kernel,
        "This is where a faster kernel, a lower precision or another shape can pay off most.",
    ),
    Rule(
        "profiler-overhead",
        "The profiler itself is on the critical path",
        0.02,
        metrics.profiler_overhead,
        "Profile fewer steps after a warm-up (torch.profiler.schedule), or without shapes and stacks.",
    ),
    Rule(
        "unknown-gaps",
        "Some of the path has no explanation",
        0.05,
        metrics.unknown_gaps,
        "Treat the path around these gaps with care; the trace holds no event and no rule for them.",
        kind="trust",
    ),
    Rule(
        "inferred",
        "Many hand-overs are inferred, not recorded",
        0.20,
        metrics.inferred,
        "They follow timing rules. Of a job on CUDA, a trace with synchronisation events "
        "(experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)) states those with the GPU.",
        kind="trust",
    ),
    _MIXED_RANKS,
)
"""Every rule with its threshold, in the order in which ties are listed."""


def recommend(findings: Findings) -> list[Recommendation]:
    """List fixes by gain, then what the rules found: what to change by share, and last what to trust.

    No fix is listed if the verdict offers no gain. If ranks are mixed, only that is said: every other number
    would be about a mixture.
    """
    rules, verdict = (_MIXED_RANKS,) if mixed_share(findings) else RULES, judge(findings)
    told, gains = verdict.bottleneck != "unknown", verdict.gains
    fixes = [_fixed(findings, row) for row in _offered(findings, verdict)]
    shown = {one.code for one in fixes}
    found = []
    for rule in rules:
        is_part = rule.kind == "part"
        threshold = findings.thresholds.get(rule.code, rule.threshold)
        left_out = shown.intersection(rule.fixes) or (is_part and not gains)
        measured = None if left_out else rule.measure(findings)
        # The part that the verdict names is listed at any share.
        named = is_part and not fixes
        if measured is not None and (named or measured.triggers or measured.share >= threshold):
            found.append(
                Recommendation(rule.code, rule.title, measured.number, measured.share, threshold, rule.advice)
            )
    # If the verdict cannot tell what to change, what to trust comes first.
    order = _KINDS if told else _KINDS[::-1]
    kinds = {rule.code: order.index(rule.kind) for rule in RULES}
    return [*fixes, *sorted(found, key=lambda one: (kinds[one.code], -one.share if told else 0.0))]


def fixes_to_try(findings: Findings) -> list[Row]:
    """List the fixes by gain; none if the verdict offers no gain."""
    return _offered(findings, judge(findings))


def _offered(findings: Findings, verdict: Verdict) -> list[Row]:
    return [row for row in what_to_change(findings) if "fix" in row] if verdict.gains else []


def _fixed(findings: Findings, row: Row) -> Recommendation:
    number = f"{row['evidence']}. It would gain {said_gain(findings, row)}"
    share = row["gain_ns"] / max(1, row["base_ns"])
    return Recommendation(row["fix"], row["title"], number, share, LEAST_GAIN, f"How: {row['how']}.", row)
