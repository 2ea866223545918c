"""report.html: one page that needs nothing else, with the lanes drawn and the critical path on them."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files

import pandas as pd

from tracegraph.workbench.output.lanes import draw_lanes
from tracegraph.workbench.output.summary import summarise
from tracegraph.workbench.pictures.palette import (
    DEPENDENCY_COLOURS,
    OTHER_COLOUR,
    ROOT_COLOUR,
    category_colours,
)
from tracegraph.workbench.report.assumptions import read_assumptions
from tracegraph.workbench.report.findings import NEAR_TIE_NS, Findings
from tracegraph.workbench.report.recommendations import Recommendation
from tracegraph.workbench.text import label

_PATH_ROWS = 500
_STEPS_DRAWN = 2_000
_TEXT_CELLS = 400
_EXACT = 1 << 53
_UNSAFE = re.compile("[<>&\u2028\u2029]")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src '{lanes_hash}' '{steps_hash}' '{what_if_hash}' '{script_hash}'; style-src '{style_hash}'; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>tracegraph report</title>
<style>{style}</style>
</head>
<body>
<main id="report"><noscript>This report draws itself with JavaScript, which is off. The same numbers are \
in summary.json, hotspots.csv and critical_path.csv beside it.</noscript></main>
<script type="application/json" id="data">{data}</script>
<script>{lanes}</script>
<script>{steps}</script>
<script>{what_if}</script>
<script>{script}</script>
</body>
</html>
"""


def report_page(findings: Findings, recommendations: Sequence[Recommendation]) -> str:
    """Return the page. Text of the trace is only data in it: escaped JSON, shown as text by the script."""
    resources = files("tracegraph.workbench.output")
    style, lanes, steps, what_if, script = (
        (resources / name).read_text(encoding="utf-8")
        for name in ("report.css", "lanes.js", "steps.js", "what_if.js", "report.js")
    )
    return _PAGE.format(
        lanes_hash=_hash(lanes),
        steps_hash=_hash(steps),
        what_if_hash=_hash(what_if),
        script_hash=_hash(script),
        style_hash=_hash(style),
        style=style,
        lanes=lanes,
        steps=steps,
        what_if=what_if,
        script=script,
        data=_safe_json(_data(findings, recommendations)),
    )


def _data(findings: Findings, recommendations: Sequence[Recommendation]) -> dict[str, object]:
    names = findings.lanes.set_index("lane")["name"]
    first = findings.path.head(_PATH_ROWS)
    return {
        "summary": summarise(findings),
        "untiled_ns": findings.untiled_ns,
        "recommendations": [asdict(one) for one in recommendations],
        "hotspots": _records(findings.hotspots),
        "gaps": _records(findings.gaps_unknown_first),
        "near_tie_ns": NEAR_TIE_NS,
        "near_slack_ns": findings.near_slack_ns,
        "near_critical": _records(findings.near_critical),
        "second_causes": _records(findings.second_causes),
        "assumptions": [asdict(one) for one in read_assumptions(findings)],
        "step_paths": _records(findings.step_paths.head(_STEPS_DRAWN)),
        "recurring": _records(findings.recurring),
        "path_rows": _records(first.assign(lane_name=first["lane"].map(names))),
        "drawing": asdict(draw_lanes(findings)),
        "steps": _records(findings.steps),
        "colours": {
            "categories": category_colours(_shown_categories(findings)),
            "other": OTHER_COLOUR,
            "dependencies": DEPENDENCY_COLOURS,
            "root": ROOT_COLOUR,
        },
    }


def _shown_categories(findings: Findings) -> Iterator[str]:
    for rows in (findings.path, findings.timeline, findings.near_critical, findings.second_causes):
        yield from map(str, rows["category"].unique())


def _records(frame: pd.DataFrame) -> list[dict[str, object]]:
    records: list[dict[str, object]] = json.loads(frame.to_json(orient="records", double_precision=12))
    return records


def _safe_json(data: Mapping[str, object]) -> str:
    """Return JSON that cannot end its script element and keeps large whole numbers as text."""
    text = json.dumps(_portable(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _portable(value: object) -> object:
    """Return the value for JavaScript: whole numbers beyond a double as text, texts short and visible."""
    if isinstance(value, Mapping):
        return {label(str(key), _TEXT_CELLS): _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    if isinstance(value, str):
        return label(value, _TEXT_CELLS)
    if isinstance(value, int) and abs(value) >= _EXACT:
        return str(value)
    return value


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
