"""One kill: the command, the kill, and what must hold after it."""

from pathlib import Path

from crash_check import Truth, check_after, check_end
from crash_steps import Trial
from crash_ways import Way, disturb

NOT_REACHED = "the step did not come"


def tried_once(way: Way, root: Path, trial: Trial, truth: Truth) -> str:
    """Why a trial failed; nothing where all is well."""
    try:
        outcome = disturb(way, root, trial)
        if not outcome.reached:
            return NOT_REACHED
        if trial.victim == "java":
            check_end(outcome)
        check_after(way, root, truth, is_done=outcome.code == 0)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
