"""Pictures of parts of a run's graph, each made from answers; they show themselves in a notebook."""

from collections.abc import Callable, Mapping
from typing import Any

from tracegraph.base.errors import InputError
from tracegraph.queries.answers import Answers
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import find_window, first_rank
from tracegraph.store.read_only import check_reads
from tracegraph.workbench.methods.flame import Flame
from tracegraph.workbench.methods.memory_picture import memory
from tracegraph.workbench.methods.picture_file import Picture
from tracegraph.workbench.pictures.graphs import causes_picture, lanes_picture, result_picture
from tracegraph.workbench.pictures.path import path_picture
from tracegraph.workbench.sections.hotspots import MOST
from tracegraph.workbench.text.names import match_names, near_names, readable
from tracegraph.workbench.text.text import format_ns, label, plural, visible

_TITLE_CELLS = 60
_STACKS = {False: ("path_frames", "Critical path"), True: ("off_path_frames", "Work off the critical path")}
_NO_STACKS = {
    False: "an earlier version stored it, without call stacks: ingest the trace again",
    True: "all work in the window is on the path",
}


def critical_path(
    answers: Answers,
    run: str,
    /,
    *,
    step: int | None = None,
    phase: str | None = None,
    occurrence: int | None = None,
) -> Picture:
    """Return the critical path of the run, a step or a phase: its longest stretches, a column a lane."""
    part = RunPart(step, phase, occurrence)
    rows = answers.of("critical_path", {"run": run, **vars(find_window(answers.of, run, part))})
    return Picture(path_picture(run, str(part), rows, answers.of("lanes", {"run": run})))


def hotspot(
    answers: Answers,
    run: str,
    name: str,
    /,
    *,
    count: int = 3,
    step: int | None = None,
    phase: str | None = None,
    occurrence: int | None = None,
) -> Picture:
    """Give the `count` longest stretches of events of a name on the path, with all their causes and effects.

    `name` is a name, else a glob of `*` and `?`, else a part of names, in the file or to be read; of
    several it is the one that takes longest.
    """
    window = find_window(answers.of, run, RunPart(step, phase, occurrence))
    asked = {"run": run, **vars(window)}
    names = list(dict.fromkeys(answers.of("hotspots", {**asked, "limit": MOST})["name"]))
    labels = readable(names)
    labelled = set(match_names(list(labels.values()), name))
    matches = match_names(names, name) or [one for one in names if labels[one] in labelled] or [name]
    edges = answers.of("hotspot_neighbourhood", {**asked, "name": matches[0], "limit": count})
    if edges.empty:
        near = ", ".join(visible(one) for one in near_names(list(labels.values()), name))
        raise InputError(
            f"no event named {name!r} is on the path",
            f"near it are: {near}" if near else "tracegraph report lists those that are",
        )
    others = f" ({plural(len(matches) - 1, 'other name')} matched)" if len(matches) > 1 else ""
    shown = visible(labels.get(matches[0], matches[0]))
    title = f"{shown}{others}: causes and effects (solid: explains the start)"
    return Picture(causes_picture(title, edges, answers.of("lanes", {"run": run}), window.start_ns))


def event(
    answers: Answers, run: str, source_index: int, /, *, rank: int | None = None, depth: int = 5
) -> Picture:
    """Why an event started when it did: its causes, back to a depth.

    `source_index` is its position in the file's traceEvents; `rank` is by default the first of the run.
    """
    rank = first_rank(answers.of, run) if rank is None else rank
    of_event = {"run": run, "source_index": source_index, "rank": rank}
    known = not answers.of("call_tree", {**of_event, "depth": 0}).empty
    if not known:
        raise InputError(
            f"there is no event {source_index} of rank {rank} in run {run!r}",
            "give the source_index of a row of critical_path.csv",
        )
    edges = answers.of("event_history", {**of_event, "depth": depth})
    if edges.empty:
        raise InputError(
            f"event {source_index} of rank {rank} has no causes in run {run!r}",
            "give the source_index of a row of critical_path.csv",
        )
    origin_ns = int(answers.of("run_details", {"run": run})["window_start_ns"].iloc[0])
    lanes = answers.of("lanes", {"run": run})
    return Picture(causes_picture(f"Causes of event {source_index}, {depth} back", edges, lanes, origin_ns))


def step(answers: Answers, run: str, number: int, /) -> Picture:
    """Return the lanes of a step and what they cause on each other."""
    window = find_window(answers.of, run, RunPart(number))
    between = {"run": run, "start_ns": window.start_ns, "end_ns": window.end_ns}
    length = format_ns(window.end_ns - window.start_ns)
    title = f"Step {number} of {label(run, _TITLE_CELLS)}, {length}: lanes and hand-overs"
    return Picture(
        lanes_picture(title, answers.of("lane_dependencies", between), answers.of("lanes", {"run": run}))
    )


def flame(
    answers: Answers,
    run: str,
    /,
    *,
    step: int | None = None,
    phase: str | None = None,
    occurrence: int | None = None,
    off_path: bool = False,
) -> Flame:
    """Where in the call stacks the critical path runs, or with `off_path` the work that is not on it."""
    part = RunPart(step, phase, occurrence)
    window = find_window(answers.of, run, part)
    query, what = _STACKS[off_path]
    frames = answers.of(query, {"run": run, **vars(window)})
    if frames.empty:
        raise InputError(f"there is no {what.lower()} in run {run!r}", _NO_STACKS[off_path])
    of = ", ".join(filter(None, [label(run, _TITLE_CELLS), str(part)]))
    return Flame(f"{what} of {of}, by call stack", frames)


def cypher(answers: Answers, run: str, query: str, /, **parameters: object) -> Picture:
    """Return the nodes, relationships and paths that a Cypher query returns; `$run` is the run's name."""
    return query_picture(answers, query, {"run": run, **parameters})


def query_picture(answers: Answers, query: str, values: Mapping[str, object]) -> Picture:
    """As `cypher`, with values of all parameters."""
    check_reads(answers.database, query, values)
    return Picture(result_picture(label(query, _TITLE_CELLS), answers.database.read(query, values)))


PICTURES: dict[str, Callable[..., Picture]] = {
    made.__name__: made for made in (critical_path, flame, hotspot, event, step, memory, cypher)
}
"""What can be drawn, by name."""


def draw_picture(answers: Answers, run: str, what: str, /, *arguments: Any, **options: Any) -> Picture:
    """Return the picture of that name; InputError lists those there are."""
    if what not in PICTURES:
        raise InputError(f"there is no picture {what!r}", f"there are: {', '.join(PICTURES)}")
    return PICTURES[what](answers, run, *arguments, **options)
