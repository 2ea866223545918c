"""What of a run a question is about."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RunPart:
    """All of a run, a step of it, or a phase of that step (or of a run without steps).

    `phase`: a name as in `PHASE_NAMES`. `occurrence`: of several phases of that name in the step which one,
    from 1; by default the last. `rank`: whose step or phase; by default that of the rank that ends it last.
    """

    step: int | None = None
    phase: str | None = None
    occurrence: int | None = None
    rank: int | None = None

    def __bool__(self) -> bool:
        """Tell whether it is less than all of the run."""
        return self.step is not None or self.phase is not None

    def __str__(self) -> str:
        """Give it as in `step 5, backward 2`; empty for all of the run."""
        which = "" if self.occurrence is None else f" {self.occurrence}"
        step = [] if self.step is None else [f"step {self.step}"]
        return ", ".join([*step, *([] if self.phase is None else [f"{self.phase}{which}"])])


WHOLE = RunPart()
