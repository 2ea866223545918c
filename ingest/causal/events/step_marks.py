"""Which events mark steps: ProfilerSteps, or the annotations that a user's marker names."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.text_columns import TextColumn
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.iterations import iteration_in
from tracegraph.vocabulary.step_names import marked_by, step_number

_FEWEST, _COVERED, _FEWEST_ITERATIONS = 3, 0.5, 2
"""Annotations are like steps where there are so many, and so much of the time of their thread is in them."""
_LISTED, _LONGEST = 8, 80
"""Names that an error lists, and characters of each that it shows."""
_DIGITS = re.compile(r"(?<!\d)\d{1,18}(?!\d)", re.ASCII)


def profiler_steps(name: TextColumn, on_thread: Flags) -> Ints:
    """Return the N of each event on a thread that is named ProfilerStep#N, else `NONE`."""
    found = [step_number(str(text)) for text in name.values]
    numbers = np.array([NONE if number is None else number for number in found], dtype=np.int64)
    return np.where(on_thread, numbers[name.codes], NONE)


def marked_steps(
    name: TextColumn, annotation: Flags, lane: Ints, times: tuple[Ints, Ints], marker: str
) -> Ints:
    """Return the number of each event whose annotation `marker` makes a step, else `NONE`.

    `annotation`: which events are annotations on a thread; `times`: start and end of each. Those of the
    thread count on which they last longest; one that begins inside another one is none.
    """
    pattern = marked_by(marker)
    meant = np.array([pattern.fullmatch(str(text)) is not None for text in name.values], dtype=bool)
    found = _in_turn(np.flatnonzero(name.matching(meant) & annotation), lane, times)
    numbers = np.full(len(lane), NONE, dtype=np.int64)
    if len(found):
        numbers[found] = number_steps([[str(text) for text in name[found]]])[0]
    return numbers


def serving_steps(name: TextColumn, annotation: Flags, lane: Ints, times: tuple[Ints, Ints]) -> Ints:
    """Give the place, from 0, of each event whose name says that it is an iteration of a server, else `NONE`.

    Those of the thread as in `marked_steps`; where there are fewer than two, none is one.
    """
    meant = np.array([iteration_in(str(text)) is not None for text in name.values], dtype=bool)
    found = _in_turn(np.flatnonzero(name.matching(meant) & annotation), lane, times)
    numbers = np.full(len(lane), NONE, dtype=np.int64)
    if len(found) >= _FEWEST_ITERATIONS:
        numbers[found] = np.arange(len(found))
    return numbers


def _in_turn(found: Ints, lane: Ints, times: tuple[Ints, Ints]) -> Ints:
    """Those of the thread on which they last longest, in order of time, without any inside another one."""
    if not len(found):
        return found
    start, end = times
    spent = np.bincount(lane[found], (end - start)[found].astype(np.float64))
    found = found[lane[found] == np.argmax(spent)]
    found = found[np.lexsort((-end[found], start[found]))]
    until = np.maximum.accumulate(np.append(NONE, end[found]))[:-1]
    outermost: Ints = found[start[found] >= until]
    return outermost


def number_steps(ranks: Sequence[Sequence[str]]) -> list[list[int]]:
    """Numbers of marked steps, from their names in the order of time, for each rank.

    The digits in the names: the first number that differs in all names of each rank, rising ones before
    others. Where there is none, or names differ in more than digits, their order, from 0.
    """
    stated = _stated_numbers(ranks)
    return [list(range(len(names))) for names in ranks] if stated is None else stated


def _stated_numbers(ranks: Sequence[Sequence[str]]) -> list[list[int]] | None:
    every = [name for names in ranks for name in names]
    if len({_DIGITS.sub("#", name) for name in every}) != 1:
        return None
    found = [[[int(text) for text in _DIGITS.findall(name)] for name in names] for names in ranks]
    count = len(_DIGITS.findall(every[0]))
    columns = [[[numbers[place] for numbers in rank] for rank in found] for place in range(count)]
    told = [one for one in columns if all(len(set(numbers)) == len(numbers) for numbers in one)]
    rising = [one for one in told if all(numbers == sorted(numbers) for numbers in one)]
    return next(iter([*rising, *told]), None)


def alike(name: str) -> str:
    """Return the marker that a name, and those that differ from it in numbers, match."""
    return re.sub(r"\d+", "*", name)


def refuse_unmarked(parts: Sequence[Events], marker: str | None) -> None:
    """InputError where a user's marker makes no step in any file; it lists the annotations that repeat."""
    if marker is None or any((part.step_number != NONE).any() for part in parts):
        return
    spent: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for part in parts:
        for name, count, time_ns in _annotations(part):
            counts[name] += count
            spent[name] = spent.get(name, 0) + time_ns
    repeated = sorted((name for name in counts if counts[name] > 1), key=lambda name: -spent[name])[:_LISTED]
    listed = ", ".join(f"{_quoted(name)} ({counts[name]:,})" for name in repeated)
    raise InputError(
        f"no annotation is named as --step-marker {_quoted(marker)} says",
        f"annotations that repeat, the longest first: {listed}" if listed else "no annotation of it repeats",
    )


def suggest_marker(events: Events) -> str | None:
    """Find annotations that repeat as steps do: most of a thread's time is in one after the other.

    None where there are none, or where the file has steps.
    """
    if (events.step_number != NONE).any() or not events.of_role(Role.OPERATOR).any():
        return None
    lane = int(np.bincount(events.lane[events.of_role(Role.OPERATOR) & events.on_thread]).argmax())
    mine = events.on_thread & (events.lane == lane)
    length = int(events.end[mine].max() - events.start[mine].min())
    found: list[tuple[int, str]] = []
    for marker in {name for name, count, _ in _annotations(events) if count >= _FEWEST}:
        annotation = mine & events.of_role(Role.ANNOTATION)
        numbers = marked_steps(events.name, annotation, events.lane, (events.start, events.end), marker)
        marked = numbers != NONE
        covered = int((events.end - events.start)[marked].sum())
        if int(marked.sum()) >= _FEWEST and covered >= _COVERED * length:
            found.append((covered, marker))
    return max(found)[1] if found else None


def _annotations(events: Events) -> list[tuple[str, int, int]]:
    """Annotations on threads by their name without numbers: that, how many, and how long together, ns."""
    chosen = np.flatnonzero(events.on_thread & events.of_role(Role.ANNOTATION))
    codes, size = events.name.codes[chosen], len(events.name.values)
    counts = np.bincount(codes, minlength=size)
    spent = np.bincount(codes, (events.end - events.start)[chosen], size)
    found: dict[str, tuple[int, int]] = {}
    for code in np.flatnonzero(counts).tolist():
        name = alike(str(events.name.values[code]))
        count, time_ns = found.get(name, (0, 0))
        found[name] = count + int(counts[code]), time_ns + int(spent[code])
    return [(name, *both) for name, both in found.items()]


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
