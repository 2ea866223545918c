"""Shows the judgement of `health`: as a table for people, as JSON, and as JUnit's XML for servers of CI."""

import json
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from tracegraph.cli.reporters.layout import table
from tracegraph.queries.shapes.peak.checks import FAILED, NOT_JUDGED, OK
from tracegraph.workbench.health.check import Judged
from tracegraph.workbench.text.text import format_share, plural, visible

_STYLES = {OK: "green", FAILED: "bold red", NOT_JUDGED: "yellow"}
_SUITE = "tracegraph.health"


def print_health(console: Console, found: Sequence[Judged]) -> None:
    """Print a row for each check, then what to look at, and how many there are of each state."""
    rows = table("check", ">value", "limit", ">threshold", "state", "what was found")
    for one in found:
        rows.add_row(
            one.check.name,
            _number(one, one.value),
            one.check.limit,
            _number(one, one.threshold),
            Text(one.state, style=_STYLES[one.state]),
            Text(visible(one.words)),
        )
    console.print(rows)
    console.print()
    for one in found:
        if one.advice:
            console.print(Text(f"{one.check.name}: {one.advice}"))
    console.print(Text(_summary(found)))


def _summary(found: Sequence[Judged]) -> str:
    counts = Counter(one.state for one in found)
    said = f"{plural(counts[FAILED], 'check')} failed, {counts[OK]} ok"
    return f"{said}, {counts[NOT_JUDGED]} not judged."


def _number(one: Judged, value: float | None) -> str:
    if value is None:
        return "–"
    return format_share(value) if one.check.unit == "share" else f"{value:,.0f}"


def health_json(found: Sequence[Judged]) -> str:
    """Return the rows as JSON; shares are 0 to 1, and a value that is not known is null."""
    return json.dumps({"checks": [one.as_row() for one in found]}, indent=1)


def health_junit(found: Sequence[Judged]) -> str:
    """Return the checks as test cases of JUnit's XML; those that were not judged are skipped."""
    counts = Counter(one.state for one in found)
    suite = ElementTree.Element(
        "testsuite",
        name=_SUITE,
        tests=str(len(found)),
        failures=str(counts[FAILED]),
        errors="0",
        skipped=str(counts[NOT_JUDGED]),
    )
    for one in found:
        case = ElementTree.SubElement(suite, "testcase", classname=_SUITE, name=one.check.name)
        said = visible(one.words)
        judged = f"{_number(one, one.value)}, {one.check.limit} {_number(one, one.threshold)}: {said}"
        if one.state == FAILED:
            failure = ElementTree.SubElement(case, "failure", type=one.check.name, message=judged)
            failure.text = one.advice
        elif one.state == NOT_JUDGED:
            ElementTree.SubElement(case, "skipped", message=said)
        else:
            output = ElementTree.SubElement(case, "system-out")
            output.text = judged
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)
