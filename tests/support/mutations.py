"""Traces damaged at random: in their bytes, in their tokens and in their structure."""

import gzip
import json
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from tracegraph.base.progress import silent
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.pipeline import ingest_run

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"
MOST_EVENTS = 120
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|[\[\]{},:]')
TOKENS: list[bytes] = [
    *(b"null", b"true", b"NaN", b"-Infinity", b"0", b"-1", b"1.5", b"1e308", b"-1e-300", b"1e999"),
    *(b"9223372036854775807", b"-9223372036854775809", b"4294967295", b"4503599627370495", b"2592000000000"),
    *(b'""', b'"x"', b'"\\ud800"', b'"\\u0000"', b'"7"', b'"stream 7"', b'"ProfilerStep#999999999999999999"'),
    *(
        b"{}",
        b"[]",
        b"[[]]",
        b'{"a": 1}',
        b'{"ph": "X"}',
        b"]",
        b"}",
        b",",
        b'"',
        b"\\",
        b"\n",
        b"\xff",
        b"\0",
    ),
    *(b'"kernel"', b'"cuda_runtime"', b'"cuda_sync"', b'"gpu_memcpy"', b'"python_function"', b'"cpu_op"'),
    *(b'"B"', b'"E"', b'"X"', b'"s"', b'"f"', b'"M"', b'"cudaStreamSynchronize"', b'"cudaLaunchKernel"'),
]
VALUES: list[object] = [
    *(None, True, False, 0, -1, 1, 7, 1.5, -0.0, 2**31, 2**32 - 1, 2**52, 2**63 - 1, -(2**63), 2**64, 10**30),
    *(1e18, -1e18, 1e300, 4.5e15, 1.7e15, 2.5e12, float("nan"), float("inf")),
    *("", "7", "-7", "stream 7", "x" * 300, "\0", "\ud800", "\u202e", "ProfilerStep#3", "nan", "1e400"),
    *([], [1], [[1, 2], []], {}, {"a": {}}),
    *("X", "B", "E", "s", "f", "M", "i", "C", "kernel", "cuda_runtime", "cuda_driver", "cuda_sync", "cpu_op"),
    *("gpu_memcpy", "gpu_user_annotation", "python_function", "user_annotation", "Kernel", "Trace"),
    *("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventRecord", "cudaStreamWaitEvent"),
    *("cudaEventSynchronize", "cudaLaunchKernel", "cudaMemcpyAsync", "Stream Wait Event", "Event Sync"),
]
Event = dict[str, object]


def seeds(paths: list[Path]) -> list[bytes]:
    """A short document from each trace: the entries of one stretch, and what they launched.

    What is no object with `traceEvents`, such as a list, a database or an operation log, is taken whole.
    """
    return [_shortened(path) for path in paths]


def as_parquet(documents: list[bytes]) -> list[bytes]:
    """Each document as `tracegraph convert` makes Parquet of it."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "trace.json", Path(folder) / "trace.parquet"
        made = []
        for document in documents:
            source.write_bytes(document)
            convert_trace(source, target, replace=True)
            made.append(target.read_bytes())
        return made


def _shortened(path: Path) -> bytes:
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    try:
        document = json.loads(data)
        events = document["traceEvents"]
    except (ValueError, TypeError):
        return data
    durations = [event for event in events if event.get("ph") == "X" and "ts" in event]
    durations.sort(key=lambda event: event["ts"])
    middle = len(durations) // 2
    kept = durations[max(0, middle - MOST_EVENTS // 2) : middle + MOST_EVENTS // 2]
    calls = {event.get("args", {}).get("correlation") for event in kept} - {None}
    kept += [e for e in durations if e.get("args", {}).get("correlation") in calls and e not in kept]
    rest = [event for event in events if event.get("ph") in ("M", "s", "f")][:20]
    return json.dumps({**document, "traceEvents": rest + kept[: 2 * MOST_EVENTS]}).encode()


def run_all(path: Path) -> None:
    """The whole way from a file to the tables of its graph."""
    ingest_run([path], "fuzz", silent)


def mutate(data: bytes, pick: random.Random) -> bytes:
    """The document with one to eight damages, all of one kind or of all kinds."""
    for _ in range(pick.choice((1, 1, 2, 3, 8))):
        data = pick.choice(_KINDS)(data, pick)
    return gzip.compress(data, 1)[: pick.choice((None, None, -9))] if pick.random() < 0.05 else data


def _span(data: bytes, pick: random.Random) -> tuple[int, int]:
    start = pick.randrange(len(data) + 1)
    return start, min(len(data), start + pick.choice((1, 1, 4, 30, 300, 3000)))


def _flip(data: bytes, pick: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(pick.choice((1, 1, 5))):
        if changed:
            changed[pick.randrange(len(changed))] = pick.randrange(256)
    return bytes(changed)


def _cut(data: bytes, pick: random.Random) -> bytes:
    return data[: _span(data, pick)[0]]


def _delete(data: bytes, pick: random.Random) -> bytes:
    start, end = _span(data, pick)
    return data[:start] + data[end:]


def _repeat(data: bytes, pick: random.Random) -> bytes:
    start, end = _span(data, pick)
    place = pick.randrange(len(data) + 1)
    return data[:place] + data[start:end] + data[place:]


def _insert(data: bytes, pick: random.Random) -> bytes:
    place = pick.randrange(len(data) + 1)
    return data[:place] + pick.choice(TOKENS) + data[place:]


def _replace(data: bytes, pick: random.Random) -> bytes:
    """Another token in place of one."""
    start = pick.randrange(len(data) + 1)
    found = _TOKEN.search(data, start)
    return data if found is None else data[: found.start()] + pick.choice(TOKENS) + data[found.end() :]


def _restructure(data: bytes, pick: random.Random) -> bytes:
    """Fields dropped, doubled under another name, given another value; events dropped, doubled, moved."""
    try:
        document = json.loads(data)
        events = document["traceEvents"]
        for _ in range(pick.choice((1, 3, 10, 40))):
            _change(events, pick)
        return json.dumps(document).encode()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return _replace(data, pick)


def _change(events: list[Event], pick: random.Random) -> None:
    at = pick.randrange(len(events))
    kind = pick.random()
    if kind < 0.1:
        del events[at]
    elif kind < 0.25:
        events.insert(pick.randrange(len(events)), dict(events[at]))
    else:
        event = events[at]
        inner = event.get("args")
        target = inner if isinstance(inner, dict) and inner and pick.random() < 0.5 else event
        key = pick.choice(list(target))
        if kind < 0.35:
            del target[key]
        elif kind < 0.6:
            target[key] = pick.choice(events).get(key)  # a value of the right kind
        elif kind < 0.7 and isinstance(target[key], int | float):
            target[key] = target[key] * pick.choice((-1, 0, 1000, 1e6, 1e-3)) + pick.choice((0, 1, -0.5))
        else:
            target[key] = pick.choice(VALUES)


_KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _cut, _delete, _repeat, _insert, _replace, _replace),
    *(_restructure,) * 8,
)
