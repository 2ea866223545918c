"""Answers to queries about stored runs: a kept one if nothing has changed since, else the database's."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from tracegraph.base.parallel import run_all
from tracegraph.base.progress import Progress, silent
from tracegraph.queries.catalog import SESSIONS, Call, Query, ask, find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.two_windows import RUN, second
from tracegraph.store.connection import Database
from tracegraph.store.kept_answers import KeptAnswers
from tracegraph.store.load.indexes import await_indexes

_DETAILS = "run_details"
"""The query that tells when a run was stored, on which what is kept of it depends."""
_RUNS = (RUN, second(RUN))
"""Names of the parameters that name a run."""
Values = Mapping[str, object]
Heard = Callable[[str, float], None]
"""Called with the name of a module and the seconds that it took."""


def _unheard(name: str, seconds: float) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class _Question:
    """A query with all its values.

    `run` and `key` say where its answer is kept, if it can be.
    """

    query: Query
    values: Values
    run: str = ""
    key: str | None = None

    @cached_property
    def calls(self) -> list[Call]:
        """What it may ask, in the order of its modules."""
        return self.query.calls(self.values)

    def due(self, frames: Mapping[Call, pd.DataFrame]) -> list[Call]:
        """List what it asks next, when these results are known."""
        return self.query.due(self.values, self.calls, frames)

    def shaped(self, frames: Mapping[Call, pd.DataFrame]) -> pd.DataFrame:
        """Make its answer from the results of all that it asked."""
        return self.query.shaped(self.values, [frames[call] for call in self.calls if call in frames])


@dataclass(frozen=True)
class _Stored:
    """A complete run: its row of `run_details`, when it was stored, and the labels of its nodes."""

    details: pd.DataFrame
    created: str
    labels: frozenset[str]


class Answers:
    """Asks a `database`, which may still be building its indexes, and keeps the answers."""

    def __init__(
        self,
        database: Database,
        kept: KeptAnswers,
        progress: Progress = silent,
        complete: Callable[[], object] = list,
    ) -> None:
        self.database, self.kept, self._progress = database, kept, progress
        self._complete: Callable[[], object] | None = complete
        self._stored: dict[str, _Stored | None] = {}

    def begin_indexes(self) -> None:
        """Have the indexes built that the database lacks, once: `complete` begins them."""
        if self._complete is not None:
            self._complete()
        self._complete = None

    def forget_runs(self) -> None:
        """Look again at what is stored: a run was added, replaced or told more about meanwhile."""
        self._stored.clear()

    def of(self, name: str, values: Values) -> pd.DataFrame:
        """Return the rows of a query for these values of its parameters, as `of_all` does."""
        return self.of_all({name: values})[name]

    def of_all(self, asked: Mapping[str, Values], heard: Heard = _unheard) -> dict[str, pd.DataFrame]:
        """Return the rows of several queries, from the kept answers or the database.

        Parameters
        ----------
        asked
            The values of each query's parameters, by the name of the query.
        heard
            Called with the name of each module that is asked, and the seconds it took. Two are asked at a
            time.

        Raises
        ------
        InputError
            There is no such query, or a value is missing, unknown or not allowed.
        StoreError
            The server failed.
        """
        may_keep = self.kept.hold()
        questions = {name: self._question(name, values, may_keep) for name, values in asked.items()}
        kept = {name: self._load(question) for name, question in questions.items()}
        rows = {name: frame for name, frame in kept.items() if frame is not None}
        open_ones = {name: question for name, question in questions.items() if name not in rows}
        if not open_ones:
            return rows
        frames: dict[Call, pd.DataFrame] = {}
        while due := dict.fromkeys(call for one in open_ones.values() for call in one.due(frames)):
            # Of a run without GPU work a page asks dozens of questions about GPUs: planning takes seconds.
            lacking = {call: call.module.nothing() for call in due if may_keep and self._lacks(call)}
            frames |= lacking | self._ask([call for call in due if call not in lacking], heard)
        # The rows may include what somebody wrote meanwhile.
        may_keep = may_keep and self.kept.hold()
        for name, question in open_ones.items():
            rows[name] = question.shaped(frames)
            if may_keep and question.key is not None:
                self.kept.save(question.run, question.key, rows[name])
        return rows

    def _question(self, name: str, values: Values, may_keep: bool) -> _Question:
        query = find(name)
        complete = query.complete(values)
        runs = [str(complete[name]) for name in _RUNS if complete.get(name) is not None]
        stored = {run: self._find(run) for run in runs} if may_keep else {}
        known = {run: one.created for run, one in stored.items() if one is not None}
        if not known or len(known) < len(stored):
            return _Question(query, complete)
        return _Question(query, complete, runs[0], answer_key(query, complete, known))

    def _load(self, question: _Question) -> pd.DataFrame | None:
        if question.key is None:
            return None
        if question.query.name == _DETAILS and (stored := self._find(question.run)) is not None:
            return stored.details.copy()
        kept = self.kept.load(question.run, question.key)
        return None if kept is None else in_types(kept, question.query.columns)

    def _ask(self, calls: Sequence[Call], heard: Heard) -> dict[Call, pd.DataFrame]:
        def timed(call: Call) -> tuple[Call, float, pd.DataFrame]:
            begun = time.perf_counter()
            rows = call.run(self.database)
            return call, time.perf_counter() - begun, rows

        frames = {}
        for call, seconds, rows in run_all(timed, self._ready(calls), SESSIONS, self.database.give_up):
            frames[call] = rows
            self._progress("asking the graph", len(frames), len(calls))
            heard(call.module.name, seconds)
        return frames

    def _ready(self, calls: Iterable[Call]) -> Iterator[Call]:
        """Yield first what needs no index, so that it is asked while the server still builds them.

        What needs more than a first screen's is asked once all are there.
        """
        waiting = []
        for call in calls:
            if call.module.needs_index:
                waiting.append(call)
            else:
                yield call
        if any(call.module.needs_all_indexes for call in waiting):
            self.begin_indexes()
        if waiting:
            await_indexes(self.database, self._progress)
        yield from waiting

    def _find(self, run: str) -> _Stored | None:
        """Find a run; None if there is no complete run of that name."""
        if run not in self._stored:
            details = ask(self.database, _DETAILS, run=run)
            ready = details[details["state"] == "ready"]
            self._stored[run] = None if ready.empty else _stored(ready)
        return self._stored[run]

    def _lacks(self, call: Call) -> bool:
        """Tell whether its run holds no node of any label that the module's rows need."""
        needs = call.module.needs
        run = self._find(str(call.named[RUN])) if needs else None
        return run is not None and bool(run.labels) and not needs & run.labels


def _stored(details: pd.DataFrame) -> _Stored:
    labels = json.loads(details["nodes_by_label"].iloc[0] or "{}")
    present = frozenset(label for label, count in labels.items() if count)
    return _Stored(details, str(details["created"].iloc[0]), present)


def answer_key(query: Query, values: Values, runs: Mapping[str, str]) -> str:
    """Hash all that an answer depends on, as a SHA-256 in hexadecimal.

    That is the text of the query's modules and of the functions that shape their rows, the values of all
    parameters, and the name and creation of every run that is asked about.
    """
    said = [query.name, query.source, dict(values), dict(runs)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
