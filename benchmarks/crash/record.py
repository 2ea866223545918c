"""The record of what was tried: a file with a JSON object in each line; a kill can only cut the last."""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from crash_steps import Step, Trial
from crash_trial import NOT_REACHED

EARLIER = Path(__file__).with_name("tried.jsonl")
"""The kills that were tried on any machine so far, from which the next machine continues."""


@dataclass(frozen=True)
class Tried:
    """A kill that was tried: its way and commit, how long it took, and why it did harm, if it did."""

    way: str
    trial: Trial
    commit: str
    seconds: float
    failure: str

    @property
    def did_harm(self) -> bool:
        """Whether something was wrong afterwards; a step that was not reached does no harm."""
        return self.failure not in ("", NOT_REACHED)


class Record:
    """The steps of each way and the kills tried, read from a file and added to it.

    A new file begins with the `earlier` kills.
    """

    def __init__(self, path: Path, earlier: Path | None = None) -> None:
        self._path = path
        if earlier is not None and earlier.exists() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(earlier, path)
        self.tried: list[Tried] = []
        self._steps: dict[str, list[Step]] = {}
        for entry in _entries(path):
            if "steps" in entry:
                self._steps[entry["way"]] = [Step(**step) for step in entry["steps"]]
            else:
                self.tried.append(_tried(entry))

    def steps(self, way: str) -> list[Step]:
        """Return the steps of a way as they were listed last; none if they never were."""
        return self._steps.get(way, [])

    def add_steps(self, way: str, commit: str, steps: Sequence[Step]) -> None:
        """Write down the steps of a way."""
        self._steps[way] = list(steps)
        self._add({"way": way, "commit": commit, "steps": [asdict(step) for step in steps]})

    def add(self, tried: Tried) -> None:
        """Write down a kill."""
        self.tried.append(tried)
        self._add(asdict(tried))

    def keep_tried(self, earlier: Path) -> None:
        """Write the kills that were tried, without the steps, for the next machine."""
        earlier.write_text("".join(json.dumps(asdict(one)) + "\n" for one in self.tried))

    def _add(self, entry: dict[str, object]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write("\n" + json.dumps(entry) if self._is_cut() else json.dumps(entry))
            file.write("\n")

    def _is_cut(self) -> bool:
        """Tell whether the last line lacks its end."""
        return self._path.exists() and self._path.read_bytes()[-1:] not in (b"", b"\n")


def _entries(path: Path) -> Iterator[dict]:
    lines = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:  # a kill cut the line off
            continue


def _tried(entry: dict) -> Tried:
    trial = entry.pop("trial")
    return Tried(trial=Trial(Step(**trial["step"]), trial["victim"]), **entry)
