"""Answers to queries about stored runs: a kept one if nothing has changed since, else the database's."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from tracegraph.base.parallel import run_all
from tracegraph.base.progress import Progress, silent
from tracegraph.queries.catalog import SESSIONS, Query, ask, find
from tracegraph.queries.module import CypherModule, in_types
from tracegraph.queries.shapes.two_windows import RUN, second
from tracegraph.store.connection import Database
from tracegraph.store.kept_answers import KeptAnswers
from tracegraph.store.load.indexes import await_indexes

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


@dataclass(frozen=True)
class _Call:
    """A module to be asked, with its values in the order of its parameters; several queries may share it."""

    module: CypherModule
    values: tuple[object, ...]

    def run(self, database: Database) -> pd.DataFrame:
        names = (parameter.name for parameter in self.module.parameters)
        return self.module.run(database, **dict(zip(names, self.values, strict=True)))


class Answers:
    """Asks a `database`, which may still be building its indexes, and keeps the answers."""

    def __init__(self, database: Database, kept: KeptAnswers, progress: Progress = silent) -> None:
        self.database, self.kept, self._progress = database, kept, progress
        self._created: dict[str, str | None] = {}

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
        frames = self._ask((call for question in open_ones.values() for call in _calls(question)), heard)
        # The rows may include what somebody wrote meanwhile.
        may_keep = may_keep and self.kept.hold()
        for name, question in open_ones.items():
            rows[name] = question.query.shaped(question.values, [frames[call] for call in _calls(question)])
            if may_keep and question.key is not None:
                self.kept.save(question.run, question.key, rows[name])
        return rows

    def _question(self, name: str, values: Values, may_keep: bool) -> _Question:
        query = find(name)
        complete = query.complete(values)
        runs = [str(complete[name]) for name in _RUNS if complete.get(name) is not None]
        created = {run: self._created_at(run) for run in runs} if may_keep else {}
        known = {run: at for run, at in created.items() if at is not None}
        if not known or len(known) < len(created):
            return _Question(query, complete)
        return _Question(query, complete, runs[0], answer_key(query, complete, known))

    def _load(self, question: _Question) -> pd.DataFrame | None:
        kept = None if question.key is None else self.kept.load(question.run, question.key)
        return None if kept is None else in_types(kept, question.query.columns)

    def _ask(self, calls: Iterable[_Call], heard: Heard) -> dict[_Call, pd.DataFrame]:
        def timed(call: _Call) -> tuple[_Call, float, pd.DataFrame]:
            begun = time.perf_counter()
            rows = call.run(self.database)
            return call, time.perf_counter() - begun, rows

        frames = {}
        distinct = list(dict.fromkeys(calls))
        for call, seconds, rows in run_all(timed, self._ready(distinct), SESSIONS, self.database.give_up):
            frames[call] = rows
            self._progress("asking the graph", len(frames), len(distinct))
            heard(call.module.name, seconds)
        return frames

    def _ready(self, calls: Iterable[_Call]) -> Iterator[_Call]:
        """Yield first what needs no index, so that it is asked while the server still builds them."""
        waiting = []
        for call in calls:
            if call.module.needs_index:
                waiting.append(call)
            else:
                yield call
        if waiting:
            await_indexes(self.database, self._progress)
        yield from waiting

    def _created_at(self, run: str) -> str | None:
        """Return when a run was stored; None if there is no complete run of that name."""
        if run not in self._created:
            details = ask(self.database, "run_details", run=run)
            ready = details[details["state"] == "ready"]
            self._created[run] = None if ready.empty else str(ready["created"].iloc[0])
        return self._created[run]


def _calls(question: _Question) -> list[_Call]:
    return [_Call(module, tuple(values.values())) for module, values in question.query.calls(question.values)]


def answer_key(query: Query, values: Values, runs: Mapping[str, str]) -> str:
    """Hash all that an answer depends on, as a SHA-256 in hexadecimal.

    That is the text of the query's modules and of the functions that shape their rows, the values of all
    parameters, and the name and creation of every run that is asked about.
    """
    said = [query.name, query.source, dict(values), dict(runs)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
