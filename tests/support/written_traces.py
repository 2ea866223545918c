"""Tiny traces as docs/rules.md writes them: lane, event, start and end of each row, then what results."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tiny

from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.vocabulary.mechanisms import MECHANISMS

_ROW = re.compile(r"^(thread|stream|sync row of stream) (-?\d+)\s{2,}(.+?)\s{2,}(-?[\d.]+)–([\d.]+)$")
_REPEATED = re.compile(r"^(\d+) times, every ([\d.]+) µs:$")
_OFF = {"could run": True, "waited": False}
_CATEGORIES = {"annotation": "user_annotation", "frame": "python_function", "copy": "gpu_memcpy"}
_NUMBERS = {"id": "correlation", "sequence": "sequence_number"}


@dataclass(frozen=True)
class WrittenTrace:
    """A block of the document: the model of its rows, and the lines of results that it states."""

    section: str
    model: tiny.Model
    stated: list[str]

    @property
    def found(self) -> list[str]:
        """All lines of results that would be true of the model."""
        return [*_dependencies(self.model), *_path_gaps(self.model), *_thread_gaps(self.model)]


def written_traces(document: Path) -> Iterator[WrittenTrace]:
    """Yield every block of the document, each with the title of its section."""
    title, block = "", None
    for line in document.read_text().splitlines():
        if line.startswith("#"):
            title = line.strip("# ")
        elif not line.startswith("```"):
            if block is not None:
                block.append(line)
        elif block is None:
            block = []
        else:
            yield _read(title, block)
            block = None


def _read(section: str, lines: list[str]) -> WrittenTrace:
    rows: list[tiny.Row] = []
    groups: list[tuple[int, float, list[re.Match[str]]]] = [(1, 0, [])]
    stated, policy = [], "evidence"
    for line in lines:
        if repeated := _REPEATED.match(line):
            groups.append((int(repeated[1]), float(repeated[2]), []))
        elif line == "once:":
            groups.append((1, 0, []))
        elif line.startswith("--cross-thread "):
            policy = line.split()[1]
        elif line.startswith("→ "):
            stated.append(line)
        else:
            row = _ROW.match(line)
            assert row, f"{section}: a row is written otherwise: {line!r}"
            groups[-1][2].append(row)
    for times, apart_us, written in groups:
        ids = {number for row in written for number in re.findall(r"[(,] ?id (\d+)", row[3])}
        for k in range(times):
            rows += [_row(row, k * apart_us, k * max(1, len(ids))) for row in written]
    return WrittenTrace(section, tiny.model(*rows, policy=policy), stated)


def _row(written: re.Match[str], later_us: float, count_on: int) -> tiny.Row:
    kind, lane, text = written[1], written[2], written[3]
    described = re.match(r"^(.*?) \(([^()]*)\)$", text)
    name, notes = (described[1], described[2].split(", ")) if described else (text, [])
    row: tiny.Row = {"name": name, "tid": lane, "pid": "1" if kind == "thread" else "0"}
    for key, text_us in (("start_ns", written[4]), ("end_ns", written[5])):
        row[key] = round((float(text_us) + later_us) * 1000)
    if name == "off the CPU":
        return {**row, "category": tiny.OFF, "ready": next((_OFF[note] for note in notes), None)}
    if kind == "thread":
        row["category"] = "cuda_runtime" if re.match(r"(cuda|hip)[A-Z]", name) else "cpu_op"
    else:
        category = "kernel" if kind == "stream" else "cuda_sync"
        row |= {"category": category, "device": 0, "stream": int(lane)}
    for note in notes:
        row |= _property(note.split(), count_on)
    return row


def _property(words: list[str], count_on: int) -> tiny.Row:  # noqa: PLR0911 (one a note)
    """Columns of a note behind a name, such as `id 3`; ids count on from one repetition to the next."""
    match words:
        case [("id" | "sequence") as what, number]:
            more = {"forward_thread": 0} if what == "sequence" else {}
            return {_NUMBERS[what]: int(number) + count_on, **more}
        case [what] if what in _CATEGORIES:
            return {"category": _CATEGORIES[what]}
        case ["process", pid]:
            return {"pid": pid}
        case ["forward", "thread", number] | ["event", "of", "stream", number]:
            return {"forward_thread" if words[0] == "forward" else "wait_on_stream": int(number)}
        case ["recorded", "by", "id", number]:
            return {"wait_on_record": int(number) + count_on}
        case ["follows", name] | ["may", "follow", name]:
            return {"follows" if words[0] == "follows" else "may_follow": name}
        case [count, "elements"]:
            return {"shapes": f"[[{count}]]"}
    raise AssertionError(f"a note that is not known: {' '.join(words)}")


def _dependencies(model: tiny.Model) -> Iterator[str]:
    found = model.dependencies
    for k in range(len(found)):
        cause, effect = tiny.label(model, found.cause[k]), tiny.label(model, found.effect[k])
        evidence = "recorded" if found.recorded[k] else "inferred"
        sure = f"confidence {_short(found.confidence[k])}, lag {_short(found.lag[k] / 1000)} µs"
        binding = "" if found.binding[k] else ", not binding"
        yield f"→ {cause} → {effect}: {MECHANISMS[found.mechanism[k]].name}, {evidence}, {sure}{binding}"


def _path_gaps(model: tiny.Model) -> Iterator[str]:
    rows = path_rows(model)
    gaps = rows[rows["category"] == "gap"]
    for name, length in (gaps["end_ns"] - gaps["start_ns"]).groupby(gaps["name"]).sum().items():
        yield f"→ gap on the path: {name}, {_short(length / 1000)} µs"


def _thread_gaps(model: tiny.Model) -> Iterator[str]:
    return (f"→ gap of the thread: {name}" for name, kind in tiny.kinds(model).items() if kind == "gap")


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
