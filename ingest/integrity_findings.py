"""What was odd, dropped, repaired or missing in the input, with counts: stated before any number."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.vocabulary.integrity_codes import CODES, Level

_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Finding:
    """One kind of oddity in one file; `message` names the place of the first case.

    `share`: the part (0..1) of the time named in the message that is concerned; None where it is not known.
    """

    code: str
    level: Level
    count: int
    message: str
    file: str
    share: float | None = None


class Integrity:
    """Collects what is found about one file, which is read under `limits`."""

    def __init__(self, file: str, limits: Limits = DEFAULT_LIMITS) -> None:
        self.file, self.limits = file, limits
        self._findings: dict[str, Finding] = {}

    def another(self) -> "Integrity":
        """Begin a collection of its own for another rank of the file, which has the same limits."""
        return Integrity(self.file, self.limits)

    def add(self, code: str, count: int, message: str, share: float | None = None) -> None:
        """Record `count` cases of a code of `CODES`, which gives its level; nothing when there is none.

        The cases of a code that is there already are added to it.
        """
        if count <= 0:
            return
        before = self._findings.get(code)
        if before is not None:
            count, message, share = before.count + count, before.message, before.share
        self._findings[code] = Finding(code, CODES[code].level, int(count), message, self.file, share)

    def add_places(
        self, code: str, what: str, places: Sequence[int] | Ints, share: float | None = None
    ) -> None:
        """Record a case for each of `places`, indices in the source of which the first is named."""
        if len(places):
            self.add(code, len(places), f"{what}, the first at source index {places[0]}", share)

    def __iter__(self) -> Iterator[Finding]:
        """Errors first; among them those of unknown extent, then the largest share of time first."""
        return iter(sorted(self._findings.values(), key=_rank))

    def rows(self) -> list[dict[str, object]]:
        """Return the findings as plain rows in their order: code, level, count, message, file, share."""
        return [asdict(finding) for finding in self]


def _rank(finding: Finding) -> tuple[int, float, str]:
    unknown = 2.0 if finding.level == "error" else 0.0
    return _ORDER[finding.level], -(unknown if finding.share is None else finding.share), finding.code


def percent(share: float) -> str:
    """Return a share (0..1) in per cent, for a message; a part is never shown as nothing or as the whole."""
    if 0 < share < 0.0005:
        return "under 0.1 %"
    return "over 99.9 %" if 0.9995 < share < 1 else f"{100 * share:.1f} %"
