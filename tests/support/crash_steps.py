"""The steps of a command, by name: each effect on the workspace, on a process, or on the database."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Victim = Literal["client", "java", "both"]


@dataclass(frozen=True)
class Step:
    """The moment before an effect: the `occurrence`-th of its kind that the function `stage` asks for."""

    stage: str
    effect: str
    occurrence: int
    java_runs: bool = False
    """Whether a server or an import ran then."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What is the same in each run of the command."""
        return self.stage, self.effect, self.occurrence

    def __str__(self) -> str:
        return f"{self.stage}: {self.effect} #{self.occurrence}"


@dataclass(frozen=True)
class Trial:
    """Who is killed, with `kill -9`, just before a step."""

    step: Step
    victim: Victim

    def __str__(self) -> str:
        return f"{self.step}, {self.victim} killed"


@dataclass(frozen=True)
class Plan:
    """What the driver does with a command in the workspace `root`: record its steps in `log`, or kill.

    `wasteful` makes every deleted run large enough that its space is given back.
    """

    root: str
    log: str
    trial: Trial | None = None
    wasteful: bool = False

    def save(self, path: Path) -> None:
        """Write the plan for the driver."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> "Plan":
        """Read what `save` wrote."""
        plan = json.loads(path.read_text())
        trial = plan.pop("trial")
        return cls(**plan, trial=trial and Trial(Step(**trial["step"]), trial["victim"]))


def read_steps(log: Path) -> list[Step]:
    """The steps that a recording wrote, one a line."""
    return [Step(**json.loads(line)) for line in log.read_text().splitlines()]


def trials_of(steps: Iterable[Step]) -> list[Trial]:
    """All that is tried: of the steps of one kind the first, the second and the last, with each victim.

    The others of a kind are what a loop repeats. Where no Java runs, there is only the client to be killed.
    """
    kinds: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        kinds.setdefault((step.stage, step.effect), []).append(step)
    kept = {step for kind in kinds.values() for step in (*kind[:2], kind[-1])}
    victims: dict[bool, Sequence[Victim]] = {False: ("client",), True: ("client", "java", "both")}
    return [Trial(step, victim) for step in steps if step in kept for victim in victims[step.java_runs]]


def spread(items: Sequence, count: int, offset: float) -> list:
    """`count` of the items, evenly spaced, begun at a share `offset` of the first stretch; all if fewer."""
    if count >= len(items):
        return list(items)
    return [items[math.floor((number + offset) * len(items) / count)] for number in range(count)]
