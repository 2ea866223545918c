"""Ratios to the floors by commit: kept with the project, compared with those of today."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.accuracy.markdown import table
from benchmarks.speed.inputs import Trace

WORSE = 1.15
"""How many times the kept ratio one may be: more is a regression."""
_SHOWN = 12
"""Commits in the table."""


@dataclass(frozen=True)
class Ratios:
    """What a way takes over what the floors take in the same run: wall seconds, but for `cpu`."""

    first_screen: float
    whole_way: float
    all_files: float
    cpu: float


NAMES = {
    "first_screen": "first screen",
    "whole_way": "whole way",
    "all_files": "all files",
    "cpu": "whole way, CPU",
}
"""How the fields are called in tables."""


def find_ratios(stages: Mapping[str, Mapping[str, float]]) -> Ratios:
    """Divide by the two floors, which are decoding the file and importing a lean graph.

    The import is the mean of before and after the ways.
    """
    whole, floors = stages["whole_way"], [stages["decode"], stages["import_only"]]
    wall, cpu = (sum(floor[kind] for floor in floors) for kind in ("wall_s", "cpu_s"))
    return Ratios(
        first_screen=whole["verdict_s"] / wall,
        whole_way=whole["wall_s"] / wall,
        all_files=stages["all_files"]["wall_s"] / wall,
        cpu=(whole["cpu_s"] + whole["server_cpu_s"]) / cpu,
    )


class History:
    """The ratios of each trace by commit, in a file with one line for each."""

    def __init__(self, file: Path) -> None:
        """Read the file, unless it is missing: the first `keep` makes it."""
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else ()
        self._kept: dict[tuple[str, str], Ratios] = {}
        for one in map(json.loads, lines):
            place = one.pop("commit"), one.pop("trace")
            self._kept[place] = Ratios(**one)

    def keep(self, commit: str, trace: Trace, ratios: Ratios) -> None:
        """Keep the ratios of a trace; those of the same commit are replaced."""
        self._kept[commit, trace.name] = ratios
        lines = (
            json.dumps({"commit": of, "trace": name, **asdict(one)}) for (of, name), one in self._kept.items()
        )
        self._file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def latest(self, trace: Trace) -> Ratios | None:
        """Return the ratios that were kept last of a trace."""
        found = [ratios for (_, name), ratios in self._kept.items() if name == trace.name]
        return found[-1] if found else None

    def describe(self) -> str:
        """Write a table with one line for each of the last commits and each of its traces."""
        commits = list(dict.fromkeys(commit for commit, _ in self._kept))[-_SHOWN:]
        rows = [
            (f"`{commit}`", name, *(f"{value:.2f}" for value in asdict(ratios).values()))
            for (commit, name), ratios in reversed(self._kept.items())
            if commit in commits
        ]
        return table(("commit", "trace", *NAMES.values()), rows)


def regressions(now: Sequence[tuple[Trace, Ratios]], history: History) -> Iterator[str]:
    """Yield a sentence for each ratio that is more than `WORSE` times the one kept last."""
    for trace, ratios in now:
        kept = history.latest(trace)
        for name, value in asdict(ratios).items():
            before = getattr(kept, name, None)
            if before is not None and value > WORSE * before:
                yield (
                    f"{trace.name}: {NAMES[name]} takes {value:.2f} times the floors, "
                    f"{value / before - 1:.0%} more than the {before:.2f} kept last"
                )
