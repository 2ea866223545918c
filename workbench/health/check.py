"""What a check is: a measure of a job, the threshold that it must keep, and why that figure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tracegraph.ingest.health.job_health import JobHealth
from tracegraph.queries.shapes.peak.checks import FAILED, NOT_JUDGED, OK, State

Unit = Literal["share", "count"]
"""What a value and its threshold are: a share, 0 to 1, or a number of things."""


@dataclass(frozen=True)
class Measured:
    """What a check found; `words` say where, in a sentence without its full stop."""

    value: float
    words: str


@dataclass(frozen=True)
class Untold:
    """Why a check found nothing, and what to record or to give for it to be judged; whole sentences."""

    why: str
    remedy: str


@dataclass(frozen=True)
class Check:
    """One check of `health`.

    Attributes
    ----------
    name
        Its name in the table, in files of thresholds and in CI.
    what
        What is measured, in words.
    unit, threshold
        The default threshold and its unit.
    source
        Why this figure.
    advice
        What to look at if it failed.
    is_floor
        Whether it fails below its threshold, instead of above it.
    """

    name: str
    what: str
    unit: Unit
    threshold: float
    source: str
    advice: str
    measure: Callable[[JobHealth], Measured | Untold]
    is_floor: bool = False

    @property
    def limit(self) -> str:
        """Which side of the threshold is well, in words."""
        return "at least" if self.is_floor else "at most"


@dataclass(frozen=True)
class Judged:
    """A check on a job: `value` is None if it could not be judged; `words` then say what to record.

    `advice`: what to look at; empty unless the check failed.
    """

    check: Check
    threshold: float
    state: State
    value: float | None
    words: str
    advice: str = ""

    def as_row(self) -> dict[str, object]:
        """Return what JSON holds of it."""
        return {
            "check": self.check.name,
            "what": self.check.what,
            "unit": self.check.unit,
            "value": self.value,
            "threshold": self.threshold,
            "limit": self.check.limit,
            "state": self.state,
            "words": self.words,
            "advice": self.advice,
        }


def judge(check: Check, job: JobHealth, threshold: float) -> Judged:
    """Judge a job by a check: it fails beyond the threshold."""
    found = check.measure(job)
    if isinstance(found, Untold):
        return Judged(check, threshold, NOT_JUDGED, None, f"{found.why} {found.remedy}")
    failed = found.value < threshold if check.is_floor else found.value > threshold
    return Judged(
        check,
        threshold,
        FAILED if failed else OK,
        found.value,
        f"{found.words}.",
        check.advice if failed else "",
    )
