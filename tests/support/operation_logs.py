"""Operation logs of simulated jobs: a 1F1B pipeline whose times are known, and its exact re-simulation.

Written from the published description alone, with its dependencies by schedule instead of by recorded times,
and solved by repetition instead of in an order: an independent statement of what the product computes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd

Key = tuple[str, int, int, int]
"""Type, number, stage and data-parallel rank of an operation."""
Own = Mapping[tuple[int, Key], float]
"""What each operation takes by itself in each step, ns."""
MESSAGES = ("forward-send", "forward-recv", "backward-send", "backward-recv")
SHARED = (
    "params-all-gather",
    "grads-reduce-scatter",
    "embedding-grads-all-reduce",
    "optimizer-clip-main-grad",
)


def order_1f1b(stage: int, stages: int, batches: int) -> list[tuple[str, int]]:
    """Forward and backward computations of a stage in turn, in the 1F1B schedule."""
    ahead = min(stages - 1 - stage, batches)
    turn = [("forward", k) for k in range(ahead)]
    for k in range(batches - ahead):
        turn += [("forward", ahead + k), ("backward", k)]
    return turn + [("backward", k) for k in range(batches - ahead, batches)]


@dataclass
class Job:
    """A job and what each of its operations follows; `members` are the operations of a message together."""

    ranks: int
    stages: int
    batches: int
    causes: dict[Key, list[Key]] = field(default_factory=dict)
    members: dict[Key, list[Key]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rank in range(self.ranks):
            for stage in range(self.stages):
                self._add_stage(rank, stage)
        for key in self.causes:
            self.members[key] = self._members(key)

    def _add_stage(self, rank: int, stage: int) -> None:
        def at(name: str, number: int = 0) -> Key:
            return name, number, stage, rank

        turn = order_1f1b(stage, self.stages, self.batches)
        before: Key | None = None
        for way, k in turn:
            compute = at(f"{way}-compute", k)
            self.causes[compute] = [before] if before else []
            before = compute
            first = stage == (0 if way == "forward" else self.stages - 1)
            last = stage == (self.stages - 1 if way == "forward" else 0)
            if not first:
                receive = at(f"{way}-recv", k)
                self.causes[receive] = [at(f"{way}-compute", k - 1), at(f"{way}-recv", k - 1)] if k else []
                self.causes[compute].append(receive)
            if not last:
                self.causes[at(f"{way}-send", k)] = [compute, *([at(f"{way}-send", k - 1)] if k else [])]
        begins = [way for way, _ in turn].index("backward")
        if begins >= 2:
            ahead = at("forward-compute", turn[begins - 2][1])
            for name in ("backward-send", "backward-recv"):
                if at(name) in self.causes:
                    self.causes[at(name)].append(ahead)
        self.causes[at("params-all-gather")] = []
        self.causes[at("forward-compute")].append(at("params-all-gather"))
        ends = stage in (0, self.stages - 1)
        tail = ["gc", "layernorm-grads-all-reduce", *(["embedding-grads-all-reduce"] if ends else [])]
        assert before is not None
        for name in (*tail, "grads-reduce-scatter", "optimizer-clip-main-grad", "optimizer"):
            self.causes[at(name)] = [before]
            before = at(name)
        self.causes[at("grads-reduce-scatter")].append(at("params-all-gather"))

    def _members(self, key: Key) -> list[Key]:
        name, number, stage, rank = key
        if name in MESSAGES:
            way, side = name.split("-")
            step = (1 if way == "forward" else -1) * (1 if side == "send" else -1)
            other = f"{way}-{'recv' if side == 'send' else 'send'}"
            return [key, (other, number, stage + step, rank)]
        if name not in SHARED:
            return [key]
        stages = {
            "embedding-grads-all-reduce": {0, self.stages - 1},
            "optimizer-clip-main-grad": set(range(self.stages)),
        }.get(name, {stage})
        ranks = [rank] if name.startswith("embedding") else range(self.ranks)
        return [(name, number, one, of) for one in sorted(stages) for of in ranks]

    def solve(
        self, step: int, own: Own, delay: Mapping[tuple[int, Key], float] | None = None
    ) -> tuple[dict[Key, float], dict[Key, float]]:
        """Starts and ends of the operations of a step, ns from its begin: repeated until nothing moves."""
        start, end = dict.fromkeys(self.causes, 0.0), dict.fromkeys(self.causes, 0.0)
        while True:
            before = dict(end)
            for key, causes in self.causes.items():
                start[key] = max((end[one] for one in causes), default=0.0) + (delay or {}).get(
                    (step, key), 0.0
                )
            for key, members in self.members.items():
                end[key] = max(start[one] for one in members) + own[step, key]
            if end == before:
                return start, end

    def length(self, steps: int, own: Own, delay: Mapping[tuple[int, Key], float] | None = None) -> float:
        """Mean length of the steps, ns."""
        return float(np.mean([max(self.solve(k, own, delay)[1].values()) for k in range(steps)]))

    def times(self, steps: int, took: Callable[[int, Key], float]) -> dict[tuple[int, Key], float]:
        """What each operation takes, by step and operation."""
        return {(k, key): took(k, key) for k in range(steps) for key in self.causes}

    def log(self, steps: int, own: Own, delay: Mapping[tuple[int, Key], float] | None = None) -> pd.DataFrame:
        """The rows that the job would write, times in seconds as in a published log."""
        rows = []
        for number in range(steps):
            start, end = self.solve(number, own, delay)
            for key in self.causes:
                name, sequence, stage, rank = key
                computes = name.endswith("-compute")
                rows.append(
                    {
                        "dp_rank": rank,
                        "stage": stage,
                        "rank": stage * self.ranks + rank,
                        "step": 10 + number,
                        "optype": name,
                        "start_ts": start[key] / 1e9,
                        "duration": (end[key] - start[key]) / 1e9,
                        "seq_id": sequence,
                        "mc": 0 if computes or name in ("params-all-gather", "grads-reduce-scatter") else -1,
                        "mb_id": sequence if computes else -1,
                        "gmc": stage if computes else -1,
                    }
                )
        return pd.DataFrame(rows)


def usual(slow: Mapping[tuple[int, int], float] = MappingProxyType({})) -> Callable[[int, Key], float]:
    """Times of a usual job, ns: computations of 20 and 40 ms, transfers of 1 ms; some workers are slower.

    `slow`: how many times as long the computations take of a worker, by data-parallel rank and stage.
    """

    def took(_: int, key: Key) -> float:
        name, _, stage, rank = key
        if name.endswith("-compute"):
            return (20e6 if name.startswith("forward") else 40e6) * slow.get((rank, stage), 1.0)
        return {"gc": 0.0, "optimizer": 5e6}.get(name, 1e6)

    return took
