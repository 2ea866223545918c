"""Work of GPUs in a report: kernels, copies, memory that is set, and launches of graphs that have one row."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.readers.event_rows import EventRows, copy_rates, number_texts
from tracegraph.ingest.readers.nsight.report import COPIES, GRAPHS, KERNELS, SETS, Report
from tracegraph.ingest.readers.sqlite_file import Rows
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.vocabulary.categories import Role, names_of

_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId")
_DIRECTIONS = (
    *("", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"),
    *("HtoD (unified)", "DtoH (unified)", "DtoD (unified)"),
)
"""What a copyKind is, in Kineto's words; the last three are migrations of unified memory."""
_MEMORY = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")
"""What srcKind, dstKind and memKind are."""
_OWN_STREAMS = 1 << 20
"""What is added to a stream's number for each further context of its device that has this number, too."""
(_KERNEL,), (_COPY,), (_SET,) = names_of(Role.KERNEL), names_of(Role.COPY), names_of(Role.MEMSET)


def read_gpu_work(report: Report) -> list[EventRows]:
    """Read all work that the process gave to GPUs."""
    kernels = report.rows(KERNELS, "globalPid", (*_PLACE, "demangledName", "shortName"))
    copies = report.rows(COPIES, "globalPid", (*_PLACE, "bytes", "copyKind", "srcKind", "dstKind"))
    sets = report.rows(SETS, "globalPid", (*_PLACE, "bytes", "memKind"))
    graphs = report.rows(GRAPHS, "globalPid", (*_PLACE, "graphId"))
    ids = np.where(kernels["demangledName"] == NONE, kernels["shortName"], kernels["demangledName"])
    named = (
        (_KERNEL, kernels, report.names(ids)),
        (_COPY, copies, _copy_names(copies)),
        (_SET, sets, _set_names(sets)),
        (_KERNEL, graphs, _graph_names(graphs)),
    )
    return _on_own_streams(
        [_work(category, rows, name) for category, rows, name in named],
        [rows["contextId"] for _, rows, _ in named],
    )


def _work(category: str, rows: Rows, name: TextColumn) -> EventRows:
    numbers = {
        "correlation": rows["correlationId"],
        "device": rows["deviceId"],
        "stream": rows["streamId"],
    }
    if "bytes" in rows.numbers:
        numbers |= {
            "bytes": rows["bytes"],
            "bandwidth": copy_rates(rows["start"], rows["end"], rows["bytes"]),
        }
    # Work without a device is on the first one: a row without a place could not be shown at all.
    device = np.where(rows["deviceId"] == NONE, 0, rows["deviceId"])
    return EventRows(category, name, rows["start"], rows["end"], device, rows["streamId"], numbers)


def _copy_names(rows: Rows) -> TextColumn:
    """Name copies as Kineto does, such as `Memcpy HtoD (Pageable -> Device)`."""
    columns = [rows[name] for name in ("copyKind", "srcKind", "dstKind")]
    frame = pd.DataFrame(dict(zip("kst", columns, strict=True)))
    groups = np.asarray(frame.groupby(list("kst"), sort=False).ngroup(), dtype=np.int64)
    distinct = frame.drop_duplicates().itertuples(index=False)
    return text_column(groups, [_copy_name(*map(int, row)) for row in distinct])


def _copy_name(kind: int, source: int, target: int) -> str:
    direction = _word(_DIRECTIONS, kind)
    places = [_word(_MEMORY, one) for one in (source, target)]
    return " ".join(["Memcpy", *filter(None, [direction])]) + (
        f" ({places[0]} -> {places[1]})" if all(places) else ""
    )


def _set_names(rows: Rows) -> TextColumn:
    numbers = number_texts(rows["memKind"])
    words = [_word(_MEMORY, int(text)) for text in numbers.values]
    return text_column(numbers.codes, [f"Memset ({word})" if word else "Memset" for word in words])


def _graph_names(rows: Rows) -> TextColumn:
    numbers = number_texts(rows["graphId"])
    return text_column(numbers.codes, [f"graph {text}" for text in numbers.values])


def _word(words: tuple[str, ...], number: int) -> str:
    return words[number] if 0 <= number < len(words) else ""


def _on_own_streams(works: list[EventRows], contexts: list[Ints]) -> list[EventRows]:
    """Give streams of several contexts of a device that share a number numbers of their own."""
    device, stream = (np.concatenate([work.numbers[name] for work in works]) for name in ("device", "stream"))
    frame = pd.DataFrame({"device": device, "stream": stream, "context": np.concatenate(contexts)})
    ranks = frame.drop_duplicates().sort_values(["device", "stream", "context"])
    ranks["number"] = ranks.groupby(["device", "stream"]).cumcount()
    if not ranks["number"].any():
        return works
    number = frame.merge(ranks, how="left", on=["device", "stream", "context"])["number"].to_numpy(np.int64)
    moved = np.where(stream == NONE, NONE, stream + number * _OWN_STREAMS)
    bounds = np.cumsum([len(work) for work in works])[:-1]
    return [
        replace(work, inner=mine, numbers={**work.numbers, "stream": mine})
        for work, mine in zip(works, np.split(moved, bounds), strict=True)
    ]
