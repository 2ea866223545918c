"""What a recording of PyTorch's profiler leaves unanswered, and the option with which it is recorded."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow.compute as pc

from tracegraph.ingest.causal.events.events import is_annotation
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.vocabulary.categories import Role, names_of
from tracegraph.vocabulary.gaps import UNTRACED_CPU


@dataclass(frozen=True)
class Recording:
    """A question, what answers it, and what a report has without; in Markdown.

    Attributes
    ----------
    question, record, without
        What somebody wants to know, what to record for it, and how it is without that.
    is_there
        Whether a rank's file holds it.
    matters
        Whether the question can be one about this file.
    """

    question: str
    record: str
    without: str
    is_there: Callable[[Part], bool]
    matters: Callable[[Part], bool] = lambda _: True


def _has(*roles: Role) -> Callable[[Part], bool]:
    return lambda part: bool(part.scene.events.of_role(*roles).any())


def _has_value(column: str) -> Callable[[Part], bool]:
    return lambda part: part.stated[column].null_count < len(part.stated)


def _annotates(part: Part) -> bool:
    events = part.scene.events
    return bool((is_annotation(events) & (events.step_number < 0)).any())


def _communicates(part: Part) -> bool:
    return _has_value("collective_kind")(part)


def _knows_bytes(part: Part) -> bool:
    both = pc.and_(pc.is_valid(part.stated["collective_kind"]), pc.is_valid(part.stated["bytes"]))
    return bool(pc.any(both).as_py())


_on_gpu = _has(Role.KERNEL)
RECORDINGS = (
    Recording(
        "which steps differ, whether a fix came true",
        "`schedule(…)` and `profiler.step()` in the loop",
        "there are no steps; annotations of your own can mark them: [phases.md](phases.md)",
        lambda part: len(part.scene.steps.number) > 0,
    ),
    Recording(
        "where in my code the path runs",
        "`with_stack=True`",
        f'time in Python is "untraced Python" or "{UNTRACED_CPU}"',
        _has(Role.FRAME),
    ),
    Recording(
        "what my own parts cost",
        '`record_function("name")` around them',
        "names of operators and kernels only",
        _annotates,
    ),
    Recording(
        "what GPUs do, and which calls launch it",
        "`ProfilerActivity.CUDA` (also on ROCm)",
        "the trace shows the CPU only",
        _on_gpu,
    ),
    Recording(
        "how near operators and steps come to the peak",
        "`record_shapes=True`",
        "no Roofline; MFU from what you say of the model",
        _has_value("shapes"),
    ),
    Recording(
        "what is allocated, when and by whom",
        "`profile_memory=True`",
        "no Memory",
        lambda part: len(part.allocations) > 0,
    ),
    Recording(
        "which stream a call waits for",
        f"`{names_of(Role.SYNC)[0]}` rows: "
        "`experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)`",
        "such edges are `inferred`",
        _has(Role.SYNC),
        _on_gpu,
    ),
    Recording(
        "which share of a link communication reaches",
        "PyTorch 2.2 or later, or `record_shapes=True`; better a file from every rank",
        "no bandwidths, or least values",
        _knows_bytes,
        _communicates,
    ),
)
"""All questions, in the order of docs/record.md."""
OF_JOB = Recording(
    "which rank is late",
    "a file from every rank",
    "waiting for others cannot be told from transferring",
    lambda part: part.file.world_size in (None, 1),
    _communicates,
)
"""The question that one file alone cannot answer."""

_OF_OTHERS = ("nsight_version", "rpd_schema")
"""Versions that files of other profilers state, which may hold PyTorch's operators (`emit_nvtx`), too."""


def unanswered(part: Part, *, alone: bool = True) -> list[Recording]:
    """Return what the file of a rank cannot answer; nothing if PyTorch's profiler did not record it.

    `alone`: it is the only file of its job that is here.
    """
    if not _has(Role.OPERATOR)(part) or any(one in part.file.versions for one in _OF_OTHERS):
        return []
    asked = (*RECORDINGS, OF_JOB) if alone else RECORDINGS
    return [one for one in asked if one.matters(part) and not one.is_there(part)]
