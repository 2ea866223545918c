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
"""Annotations are suggested as steps if there are at least `_FEWEST` and at least the share `_COVERED` of
their thread's time is in them; a server's iterations are steps if there are at least `_FEWEST_ITERATIONS`.
Chosen by eye: what repeats twice may be two parts of one step, and what covers less than half is a part of a
step; the names of a server's iterations say what they are, so that two suffice to compare."""
_LISTED, _LONGEST = 8, 80
"""How many annotations an error message lists, and how many characters of a name it quotes: the message then
fits a screen, and a name one line."""
_DIGITS = re.compile(r"(?<!\d)\d{1,18}(?!\d)", re.ASCII)


def profiler_steps(name: TextColumn, marking: Flags) -> Ints:
    """Read the N of each event in `marking` that is named ProfilerStep#N; `NONE` for all others."""
    found = [step_number(str(text)) for text in name.values]
    numbers = np.array([NONE if number is None else number for number in found], dtype=np.int64)
    return np.where(marking, numbers[name.codes], NONE)


def marked_steps(
    name: TextColumn, annotation: Flags, lane: Ints, times: tuple[Ints, Ints], marker: str
) -> Ints:
    """Find the number of each event that `marker` makes a step; `NONE` for all others.

    Only the thread counts on which such annotations last longest in all. One that begins inside another is
    not a step.

    Parameters
    ----------
    annotation
        Which events are annotations on a thread.
    times
        Start and end of each event, ns.
    marker
        The user's glob for the names of annotations.
    """
    pattern = marked_by(marker)
    meant = np.array([pattern.fullmatch(str(text)) is not None for text in name.values], dtype=bool)
    found = _in_turn(np.flatnonzero(name.matching(meant) & annotation), lane, times)
    numbers = np.full(len(lane), NONE, dtype=np.int64)
    if len(found):
        numbers[found] = number_steps([[str(text) for text in name[found]]])[0]
    return numbers


def serving_steps(name: TextColumn, annotation: Flags, lane: Ints, times: tuple[Ints, Ints]) -> Ints:
    """Count from 0 the events whose names say that they are a server's iterations; `NONE` for others.

    Only one thread counts, as in `marked_steps`. If it has fewer than two of them, none is a step.
    """
    meant = np.array([iteration_in(str(text)) is not None for text in name.values], dtype=bool)
    found = _in_turn(np.flatnonzero(name.matching(meant) & annotation), lane, times)
    numbers = np.full(len(lane), NONE, dtype=np.int64)
    if len(found) >= _FEWEST_ITERATIONS:
        numbers[found] = np.arange(len(found))
    return numbers


def _in_turn(found: Ints, lane: Ints, times: tuple[Ints, Ints]) -> Ints:
    """Keep those of the thread on which they last longest, by time, without any inside another one."""
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
    """Find numbers for the marked steps of each rank, from their names in the order of time.

    The number of a step is the first one in its name that differs in all names of each rank; numbers that
    rise with time are preferred. If there is none, or the names differ in more than digits, steps are counted
    from 0.
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
    """Make the marker that matches a name and all names that differ from it in numbers only."""
    return re.sub(r"\d+", "*", name)


def refuse_unmarked(parts: Sequence[Events], marker: str | None) -> None:
    """Raise InputError if the user's marker makes no step in any file; list the annotations that repeat."""
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
    """Suggest a marker for annotations that repeat as steps do.

    There must be at least three of them, one after the other on the thread with most operators, and they must
    take half of its time. None if there are none, or if the file has steps.
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
    """List annotations on threads by their name without numbers, with their count and total time in ns."""
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
