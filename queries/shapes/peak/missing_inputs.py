"""What a share of the peak lacks, a sentence each, and what to give or record."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tracegraph.queries.shapes.peak import losses
from tracegraph.queries.shapes.peak.job import Job

KNOWN_ENOUGH = 0.9
"""Where FLOPs are known of less than this share of the computing time, 0..1, their sum is a least value.
Chosen by eye: at 90 % the sum lacks at most about a tenth if the rest works as densely."""

WAITS_INSIDE = "Waits for other ranks are inside, which one file cannot tell: give the files of all ranks."
UNSEEN = (
    "What goes on meanwhile is not in the file: record the CPU's activities, with_stack=True, too, and begin "
    "before the work does."
)


@dataclass(frozen=True)
class Facts:
    """What is known of a step of a rank.

    Attributes
    ----------
    known_share
        Share of the computing GPU time whose FLOPs are known, 0..1; None if nothing computes.
    model_flops, counted_flops
        None where they are not known.
    partial
        Whether the job has ranks whose files are not here.
    is_training
        Whether the step has a backward pass.
    has_operators
        Whether its GPU work belongs to operators that the file holds.
    by_model
        Whether `model_flops` come from what the user says of the model.
    """

    job: Job
    device: str | None
    dtype: str | None
    peak: float | None
    known_share: float | None
    model_flops: int | None
    counted_flops: int | None
    partial: bool
    is_training: bool
    has_operators: bool
    by_model: bool


def lacking(facts: Facts) -> Iterator[str]:
    """Yield a sentence for each thing that is missing or must be known to read the shares."""
    yield from _of_flops(facts)
    if facts.model_flops is not None and facts.peak is None:
        yield _of_peak(facts.device, facts.dtype)
    if facts.by_model:
        yield from _of_model(facts)
    elif facts.counted_flops is not None and (facts.known_share or 0) < KNOWN_ENOUGH:
        yield "The shares are at least this large, as the FLOPs of some of the computing time are not known."


def _of_flops(facts: Facts) -> Iterator[str]:
    job = facts.job
    stated = job.params is not None or job.model is not None
    if stated and job.tokens is None:
        yield "The FLOPs of the model need the tokens of a step on all GPUs: give --tokens."
    elif stated and facts.partial and job.gpus is None:
        yield "Some ranks of the job are not here, so nobody can tell this rank's part: give --gpus."
    elif facts.model_flops is None and not facts.has_operators:
        yield "The FLOPs of no product are known, as the file names no operators: give --params and --tokens."
    elif facts.model_flops is None:
        yield (
            "The FLOPs of no product are known: record with record_shapes=True, which tells nothing of CUDA "
            "graphs, or give --params and --tokens."
        )


def lacking_of_losses(
    device: str | None, unrated: Iterable[str | None], *, is_known: bool, is_alone: bool
) -> dict[str, str]:
    """Tell what is missing of parts of a rank's time, or must be known to read them, by part.

    Parameters
    ----------
    unrated
        The types of its products whose peak is not known.
    is_known
        Whether the FLOPs of any product are.
    is_alone
        Whether the run has one file, whose communication may wait for ranks that are not here.
    """
    found = {losses.UNRECORDED: UNSEEN}
    if not is_known:
        found[losses.OTHER_COMPUTING] = (
            "Products may be inside, as the FLOPs of none are known: record operators with "
            "record_shapes=True, which tells nothing of CUDA graphs."
        )
    if is_alone:
        found[losses.TRANSFER] = WAITS_INSIDE
    found.update((losses.UNRATED, _of_peak(device, dtype)) for dtype in unrated)
    return found


def _of_peak(device: str | None, dtype: str | None) -> str:
    if device is None:
        return "The file does not name the GPU, so its peak is not known: give --device or --peak."
    if dtype is None:
        return "The file does not tell in which type products compute, so the peak is not known: give --peak."
    return f"The peak of {device} for {dtype} is not known here: give --peak, in TFLOP/s."


def _of_model(facts: Facts) -> Iterator[str]:
    if facts.job.model is None:
        yield "The attention scores are not counted: give --model and --batch, too."
    elif facts.job.batch is None:
        yield "The attention scores are not counted: give --batch, too, which tells the length of a sequence."
    if not facts.has_operators:
        yield "The file holds no operators: the step is taken for a training step, three forward passes."
    elif not facts.is_training:
        yield "No backward pass is recorded: a forward pass is counted, a third of a training step."
