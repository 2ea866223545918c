"""The check of MFU: which share of the peak a job reaches, if its user states the model and the peak."""

from functools import partial

from tracegraph.ingest.health.job_health import JobHealth
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.queries.shapes.peak.missing_inputs import Facts, lacking
from tracegraph.queries.shapes.peak.model_flops import PASSES
from tracegraph.queries.shapes.peak.utilisation import per_rank
from tracegraph.vocabulary.device_peaks import PUBLISHED_MFU
from tracegraph.workbench.health.check import Check, Measured, Untold
from tracegraph.workbench.health.measures import NO_GPU_WORK
from tracegraph.workbench.text.text import format_ns

_FLOP_PER_TFLOP, _NS_PER_S = 1e12, 1e9
_NO_PEAK = Untold(
    "The peak of the GPUs depends on the type in which products compute, which is not looked for here.",
    "Give --peak, in TFLOP/s.",
)


def mfu_check(stated: Job) -> Check:
    """Return the check of MFU for what the user says of the job."""
    return Check(
        "mfu",
        "Share of the peak of a GPU that the model's FLOPs reach (MFU), of the rank where it is smallest",
        "share",
        0.30,
        f"A choice. Large runs that were published reach more: {PUBLISHED_MFU}.",
        "`tracegraph query peak_losses` says where the rest of the peak goes.",
        partial(_measure, stated),
        is_floor=True,
    )


def _measure(stated: Job, job: JobHealth) -> Measured | Untold:
    """Compute the smallest MFU of a rank, over all of its steps but the first, in training."""
    alone = len(job.ranks) == 1 and any(one.communication_ns for one in job.ranks.values())
    of_model = per_rank(stated, len(job.ranks), partial=alone or bool(job.missing))
    forward = of_model.forward_flops
    if not any(one.idle for one in job.ranks.values()):
        return NO_GPU_WORK
    if forward is None:
        return Untold(*_missing(stated, partial_job=of_model.partial))
    if stated.peak is None:
        return _NO_PEAK
    steps_ns = {rank: float(one.step_ns.mean()) for rank, one in job.ranks.items() if len(one.step_ns)}
    if not steps_ns:
        return Untold("The files hold fewer than two steps.", "Record more steps, or give --step-marker.")
    rank = max(steps_ns, key=steps_ns.__getitem__)
    allowed = stated.peak * _FLOP_PER_TFLOP * steps_ns[rank] / _NS_PER_S
    steps = f"rank {rank}, steps of {format_ns(round(steps_ns[rank]))}"
    return Measured(forward * PASSES / allowed, f"{steps}, in which the peak allows {allowed:.3g} FLOPs")


def _missing(stated: Job, *, partial_job: bool) -> tuple[str, str]:
    """Say what the FLOPs of the model lack, and what to give, in the words of `utilisation`."""
    facts = Facts(
        stated,
        device=stated.device,
        dtype=None,
        peak=stated.peak,
        known_share=None,
        model_flops=None,
        counted_flops=None,
        partial=partial_job,
        is_training=True,
        has_operators=True,
        by_model=False,
    )
    why, _, remedy = next(lacking(facts)).rpartition(": ")
    return f"{why}.", f"{remedy[0].upper()}{remedy[1:]}"
