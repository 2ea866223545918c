"""The first screen of a report: what it holds, that it stays one screen, and that names stay text."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from report_data import make_findings
from rich.console import Console

from tracegraph.cli.reporters.first_screen import first_screen
from tracegraph.cli.reporters.first_screen_text import MOST_LINES, print_first, print_written
from tracegraph.cli.reporters.markdown import as_markdown
from tracegraph.queries.run_part import WHOLE
from tracegraph.vocabulary.bounds import GPU, TURNS
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.output.folder import Written
from tracegraph.workbench.sections.blocks import Part, Stack

HOSTILE = "\x1b[31m<img src=x>|@team `*_[x](https://evil.example) " + "y" * 300
FILES = (Path("folder" * 40), Written(("report.html", "summary.json", *(f"{n}.csv" for n in range(22))), {}))


def fix(title: str = "Load ahead", name: str = "load") -> dict[str, object]:
    return {
        **{"fix": "prefetch", "title": title, "selector": f"name={name}", "base_ns": 2000, "gain_ns": 500},
        **{
            "low_ns": 400,
            "high_ns": 600,
            "speedup": 1.33,
            "inferred_share": 0.0,
            "evidence": f"{name} x",
        },
        **{"how": "workers", "command": f"tracegraph what-if --prefetch 'name={name}'", "assumptions": []},
    }


def with_fixes(*fixes: dict[str, object], **details: object) -> Findings:
    resources = {"gpu": {"length_ns": 1000, "gain_ns": 1000}}
    found = make_findings(part=WHOLE)
    return replace(found, details=replace(found.details, fixes=fixes, bounds=resources, **details))


def printed(findings: Findings, written: tuple[Path, Written] | None = None, width: int = 100) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    print_first(console, first_screen(findings), is_written=written is not None)
    if written is not None:
        print_written(console, *written)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_the_title_says_the_run_its_length_and_the_trust_in_the_input() -> None:
    findings = make_findings(part=WHOLE)
    assert printed(findings)[0] == "Run tiny-0a1b2c3d: 1 rank, 2 µs, no errors or warnings about the input"
    rows = [
        {"code": "a", "level": level, "count": 2, "message": "m"} for level in ("error", "warning", "warning")
    ]
    doubtful = replace(findings, details=replace(findings.details, integrity=rows))
    assert printed(doubtful)[0].endswith(": 1 rank, 2 µs, 1 error and 2 warnings about the input")
    told = "1 error and 2 warnings (a in 3 files), the first: 2 m"
    assert any("input" in line and told in line for line in printed(doubtful))


def test_the_bar_has_its_length_and_every_part_its_words() -> None:
    lines = printed(make_findings(part=WHOLE))
    place = next(at for at, line in enumerate(lines) if line.startswith("What the 2 µs"))
    bar, rows = lines[place + 1].strip(), [" ".join(line.split()) for line in lines[place + 2 : place + 5]]
    assert len(bar) == 90
    assert bar.count("█") == round(90 * 0.45)
    assert rows == ["part of the path", "█ GPU work 45.0 %", "▓ host work 25.0 %"]


def test_fixes_are_a_table_with_gain_and_range() -> None:
    lines = printed(with_fixes(fix()))
    assert "  Load ahead  500 ns      25.0 %    400 ns   600 ns" in lines
    assert "  predict the first with: tracegraph what-if --prefetch 'name=load'" in lines


def bounded(*resources: tuple[str, int, float], places: Sequence[object] = ()) -> Findings:
    """A run of 2 µs that is that long without a resource, and gains that share."""
    rows = [
        {"resource": name, "length_ns": ns, "gain_ns": 2000 - ns, "share": share}
        for name, ns, share in resources
    ]
    told = {
        "base_ns": 2000,
        "resources": rows,
        "bottlenecks": [resources[0][0]],
        "places": places,
        "floors": [],
    }
    found = make_findings(part=WHOLE)
    return replace(found, details=replace(found.details, bounds=told))


def test_each_part_has_in_its_row_how_fast_the_run_would_be_without_it() -> None:
    findings = bounded((GPU, 1000, 0.5), (TURNS, 1900, 0.05))
    lines = [" ".join(line.split()) for line in printed(findings)]
    place = lines.index("part of the path without it")
    assert lines[place + 1] == "█ GPU work 45.0 % 2 times as fast"
    # What holds none of the path has no sign and no share, but would make the run faster.
    assert "others' turns on the GPU or CPU 1.053 times as fast" in lines[place : place + 7]
    assert any(line.startswith("A share is no gain") for line in lines)
    assert "| GPU work | 45.0 % | 2 times as fast |" in as_markdown(first_screen(findings))


def test_of_many_parts_those_that_make_the_run_faster_are_listed() -> None:
    parts = [Part(f"p{n}", 100 - n, "#000000", 1.5 if n in (1, 7) else None) for n in range(8)]
    listed = Stack(parts, 800).listed(4).parts
    assert [one.word for one in listed] == ["5 others", "p0", "p1", "p7"]
    assert sum(one.length_ns for one in listed) == sum(one.length_ns for one in parts)


def test_where_in_the_code_the_bottleneck_is_stands_below_the_verdict() -> None:
    place = {"resource": GPU, "place": "far/away/train.py(3): step", "share": 0.75}
    lines = printed(bounded((GPU, 1000, 0.5), places=[place]))
    said = next(line for line in lines if line.startswith("  where"))
    assert said.endswith("In the code: 75.0 % of the computing on the path in `train.py(3): step`.")
    assert any(line.startswith("  not known") for line in lines)
    assert not any(line.startswith("  where") for line in printed(bounded((GPU, 1000, 0.5))))
    scattered = {**place, "share": 0.1}
    assert not any(
        line.startswith("  where") for line in printed(bounded((GPU, 1000, 0.5), places=[scattered]))
    )


def test_gains_are_said_not_to_add_up_with_what_two_gain_together() -> None:
    fixes = [fix("Load ahead"), {**fix("Fuse"), "with_first_ns": 700}]
    lines = printed(with_fixes(*fixes))
    told = "Gains need not add up: the first two gain 700 ns together; `tracegraph plan` tries more."
    assert told in [line.strip() for line in lines]
    assert told in as_markdown(first_screen(with_fixes(*fixes)))
    stored_before = " ".join(printed(with_fixes(fix("Load ahead"), fix("Fuse"))))
    assert "Gains need not add up; `tracegraph plan` tries more." in stored_before
    assert "add up" not in " ".join(printed(with_fixes(fix("Load ahead"))))


@pytest.mark.parametrize("count", [1, 30])
def test_it_is_one_screen_with_any_names(count: int) -> None:
    rows = [
        {"code": f"{HOSTILE}{n}", "level": "warning", "count": 1, "message": HOSTILE}
        for n in range(3 * count)
    ]
    fixes = [fix(f"Fix {n} {HOSTILE}", HOSTILE[:80]) for n in range(count)]
    lines = printed(with_fixes(*fixes, integrity=rows, name=HOSTILE), FILES)
    assert len(lines) <= MOST_LINES
    assert (
        max(len(line) for line in lines if "predict the first" not in line) <= 100
    )  # that one can be pasted
    assert "\x1b" not in "".join(lines)
    listed = sum(line.startswith("  Fix ") for line in lines)
    assert listed >= 1
    assert any(f"with {count - listed} more fix" in line for line in lines) == (listed < count)
    assert "22 tables as CSV" in " ".join(lines)


def test_more_fixes_than_there_is_room_for_are_counted() -> None:
    lines = printed(with_fixes(*(fix(f"Fix {n}") for n in range(9))))
    assert [line.split("  ")[1] for line in lines if line.startswith("  Fix ")] == [
        f"Fix {n}" for n in range(6)
    ]
    assert any("with 3 more fixes" in line for line in lines)


def test_markdown_shows_names_as_text() -> None:
    text = as_markdown(first_screen(with_fixes(fix(name=HOSTILE), name=HOSTILE)))
    for meant in ("<img", "@team", "https://evil", "\x1b", "[x]", "`"):
        assert meant not in text
    table = [line for line in text.splitlines() if line.startswith("|") and line.count("|") > 4]
    assert [line.count("|") for line in table] == [7, 7, 7]
    assert "| Load ahead | 500 ns | 25.0 % | 400 ns | 600 ns | <code>tracegraph what-if" in table[2]
