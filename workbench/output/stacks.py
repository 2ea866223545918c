"""Call stacks as text that other programs draw: folded stacks and speedscope's format."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version

import pandas as pd

from tracegraph.queries.shapes.call_tree import call_tree
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import visible

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNNAMED = "(no name)"
_SEPARATOR, _IN_ITS_PLACE = ";", ":"
_PLACE = re.compile(r"(?P<file>[^()]+)\((?P<line>\d{1,9})\): .")


def folded_stacks(frames: pd.DataFrame) -> str:
    """Return a line for each stack in which time was spent: its frames, a space, and the ns.

    The format has no way to write a semicolon in a name: it becomes a colon. What else would break a line is
    shown as an escape.
    """
    spent: defaultdict[str, int] = defaultdict(int)
    for stack, own_ns in _stacks(frames):
        spent[_SEPARATOR.join(name.replace(_SEPARATOR, _IN_ITS_PLACE) for name in stack)] += own_ns
    return "".join(f"{stack} {own_ns}\n" for stack, own_ns in spent.items())


def speedscope_profile(title: str, frames: pd.DataFrame) -> str:
    """Return the stacks as a sampled profile, a sample each, in ns."""
    places: dict[str, int] = {}
    samples, weights = [], []
    for stack, own_ns in _stacks(frames):
        samples.append([places.setdefault(name, len(places)) for name in stack])
        weights.append(own_ns)
    profile = {
        "type": "sampled",
        "name": visible(title),
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }
    content = {
        "$schema": _SCHEMA,
        "shared": {"frames": [_described(name) for name in places]},
        "profiles": [profile],
        "name": visible(title),
        "activeProfileIndex": 0,
        "exporter": f"tracegraph@{version('tracegraph')}",
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def _stacks(frames: pd.DataFrame) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every stack with time of its own, as readable names from the root on: those of a call together."""
    tree = call_tree(frames)
    names = {name: visible(text) or _UNNAMED for name, text in readable(tree["name"].unique()).items()}
    inside: defaultdict[int, list[tuple[int, str, int]]] = defaultdict(list)
    order = tree[tree["duration_ns"] > 0].sort_values(["duration_ns", "name"], ascending=[True, False])
    parents = order["parent"].fillna(-1).astype("int64")
    for parent, *row in zip(parents, order["frame"], order["name"], order["own_ns"], strict=True):
        inside[parent].append((int(row[0]), names[row[1]], int(row[2])))
    waiting: list[tuple[tuple[str, ...], int, int]] = [
        ((name,), frame, own_ns) for frame, name, own_ns in inside[-1]
    ]
    while waiting:
        stack, frame, own_ns = waiting.pop()
        if own_ns:
            yield stack, own_ns
        waiting += [((*stack, name), one, own) for one, name, own in inside[frame]]


def _described(name: str) -> dict[str, object]:
    """A frame, with file and line where the name of a Python function says them."""
    place = _PLACE.match(name)
    return {"name": name} | ({"file": place["file"], "line": int(place["line"])} if place else {})
