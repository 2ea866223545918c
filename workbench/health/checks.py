"""All checks of `health` with their default thresholds and words: declared here, and nowhere else."""

from collections.abc import Mapping

from tracegraph.ingest.health.job_health import JobHealth
from tracegraph.queries.shapes.peak.job import NOTHING_SAID, Job
from tracegraph.workbench.health import measures
from tracegraph.workbench.health.check import Check, Judged, judge
from tracegraph.workbench.health.mfu import mfu_check

CHECKS = (
    Check(
        "input-errors",
        "Findings about the input that are errors",
        "count",
        0,
        "An error says that something was lost or cannot be, so that every number below may be wrong.",
        "`tracegraph doctor` says what each finding means and what to do about it.",
        measures.input_errors,
    ),
    Check(
        "step-spread",
        "Standard deviation of the steps' lengths by their mean, without the first step",
        "share",
        0.10,
        "Steps do the same work. Simulated jobs without a fault stay below 5 %; twice that is "
        "beyond what clocks of GPUs and noise of hosts explain.",
        "`tracegraph report` compares the steps (Steps), `tracegraph diff` a slow one with a usual one.",
        measures.step_spread,
    ),
    Check(
        "late-rank",
        "Share of the window in which the others wait for one rank and compute nothing, in the mean",
        "share",
        0.05,
        "The figure of the recommendation straggler. It is a choice: simulated jobs without a late rank stay "
        "below it, whatever their clocks do.",
        "`tracegraph report` on all files says what the rank is late by (Ranks).",
        measures.late_rank,
    ),
    Check(
        "gpu-idle",
        "Share of the window in which no GPU of a rank runs anything",
        "share",
        0.20,
        "A choice: simulated jobs that are fed well leave a GPU idle for up to 10 % of the time; twice that "
        "fails.",
        "`tracegraph report` names what the GPU waits for (GPU, Why the GPU is idle).",
        measures.gpu_idle,
    ),
    Check(
        "loader-stall",
        "Share of the window in which the GPU is idle while the thread that feeds it loads data",
        "share",
        0.10,
        "A choice: simulated jobs whose loader just keeps up show up to 7 %. Mohan et al. (Analyzing and "
        "Mitigating Data Stalls in DNN Training, VLDB 2021) tell how often it does not.",
        "Try more DataLoader workers, pin_memory=True, a larger prefetch_factor, or cheaper transforms.",
        measures.loader_stall,
    ),
    Check(
        "sync-stall",
        "Share of the window in which the GPU is idle since a call waited until it had nothing to do",
        "share",
        0.03,
        "A value read back once in each step costs 1 to 2 % in simulated and recorded jobs; more comes of "
        "several, or of work of the host that stands behind one.",
        "Look for .item(), .cpu(), nonzero() or torch.cuda.synchronize() in the step.",
        measures.sync_stall,
    ),
    Check(
        "launch-bound",
        "Share of the window in which the GPU waits for the next launch of many",
        "share",
        0.10,
        "The figure of the recommendation launch-overhead: below a tenth, what a CUDA graph gains is hardly "
        "worth making one.",
        "Try CUDA graphs, torch.compile(mode='reduce-overhead'), fused optimizers, or larger batches.",
        measures.launch_bound,
    ),
    Check(
        "exposed-communication",
        "Share of the window in which only communication runs, known waits for other ranks apart",
        "share",
        0.20,
        "Hsia et al. (MAD-Max Beyond Single-Node, ISCA 2024) find 14 to 32 % of all GPU hours in it: a job "
        "near the middle of that has something to gain.",
        "`tracegraph query exposed_communication` names the kernels; try overlap, larger buckets, fewer "
        "collectives.",
        measures.exposed_communication,
    ),
    Check(
        "memory",
        "Most memory that was allocated on a device at once by the memory of the device",
        "share",
        0.95,
        "A choice: the context of CUDA and the buffers of NCCL come on top of what PyTorch allocates, "
        "so above 95 % a slightly longer sequence may not fit.",
        "`tracegraph query memory_peak` names the operator; try checkpointing, a smaller batch, or sharding.",
        measures.memory_used,
    ),
)
"""The checks of every job, in the order of the table."""
ALL_CHECKS = (*CHECKS, mfu_check(NOTHING_SAID))
"""All checks: also those of a job of which the user says something."""
DEFAULTS: Mapping[str, float] = {check.name: check.threshold for check in ALL_CHECKS}
"""The default threshold of each check."""


def judge_job(job: JobHealth, thresholds: Mapping[str, float], stated: Job = NOTHING_SAID) -> list[Judged]:
    """Judge a job by all checks; `thresholds`: those that differ from the defaults, by the check's name."""
    is_stated = stated.params is not None or stated.model is not None
    checks = (*CHECKS, mfu_check(stated)) if is_stated else CHECKS
    return [judge(check, job, thresholds.get(check.name, check.threshold)) for check in checks]
