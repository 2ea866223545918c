"""What a user chooses when traces become a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracegraph.ingest.detail import FULL
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.store.schema.node_labels import CROSS_THREAD_POLICIES
from tracegraph.vocabulary.kernel_types import Spelling


@dataclass(frozen=True)
class IngestOptions:
    """How traces are read and what their graph rests on.

    Attributes
    ----------
    cross_thread
        One of `CROSS_THREAD_POLICIES`, None for the first.
    scheduler
        The address of a Dask cluster that reads the files of several ranks, instead of processes of this
        machine.
    step_marker
        A glob of `*` and `?` for the annotations that mark steps, instead of the profiler's.
    spellings
        A user's own spellings of kernel names, which decide whether a kernel computes, communicates or
        copies.
    companions
        Files that are not traces but explain the job, such as logs of NCCL.
    job
        What the user says of the job, a JSON object, which is stored with the run.
    detail
        One of `DETAILS`: all of each rank, or all of those that the critical path is about.
    in_full
        With the latter, the ranks that are kept in full; none: they are chosen.
    """

    limits: Limits = DEFAULT_LIMITS
    cross_thread: str | None = None
    scheduler: str | None = None
    step_marker: str | None = None
    spellings: Sequence[Spelling] = ()
    compared: bool = True
    companions: Sequence[str] = ()
    job: str | None = None
    detail: str = FULL
    in_full: Sequence[int] = ()

    @property
    def policy(self) -> str:
        """The policy between threads: the one chosen, else the first."""
        return self.cross_thread or CROSS_THREAD_POLICIES[0]

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies under which the graph is found, the chosen one first."""
        others = (policy for policy in CROSS_THREAD_POLICIES if policy != self.policy)
        return (self.policy, *(others if self.compared else ()))


DEFAULT_OPTIONS = IngestOptions()
