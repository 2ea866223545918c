"""The project's layout is as docs/architecture.md says; changes that people notice are listed."""

import re
import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
DRAWN = runpy.run_path(str(ROOT / "docs" / "storeys.py"))
ROOMS = [room for level in DRAWN["STOREYS"] for room in level]
MOST_MODULES = 20
LARGE = {"workbench/sections"}
"""Folders in which a module is one section."""
MOST_UNLISTED = 10


def test_the_list_and_the_picture_of_the_storeys_are_the_generated_ones() -> None:
    page = ARCHITECTURE.read_text()
    assert DRAWN["with_list"](page) == page
    drawn = (ROOT / "docs" / "storeys.svg").read_text()
    assert [room for room in ROOMS if f">{room}<" not in drawn] == []


def test_the_journey_of_a_trace_names_places_that_exist() -> None:
    places = re.findall(r"`([a-z_/]+/[a-z_]*(?:\.py)?)`", ARCHITECTURE.read_text())
    assert len(places) > 40
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_what_contributors_are_to_copy_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    places = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|cypher))`", text)
    assert len(places) > 15
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_no_folder_holds_more_modules_than_somebody_can_look_through() -> None:
    folders = [file.parent for room in ROOMS for file in (ROOT / room).rglob("__init__.py")]
    counts = {one.relative_to(ROOT).as_posix(): len(list(one.glob("*.py"))) - 1 for one in folders}
    assert {name: count for name, count in counts.items() if count > MOST_MODULES and name not in LARGE} == {}


def test_the_words_of_the_glossary_are_in_order_and_said_once() -> None:
    rows = re.findall(r"^\| (.*?) \| .* \|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)[1:]
    assert len(rows) > 30
    assert rows == sorted(set(rows), key=str.casefold)


def commits(*which: str) -> list[str]:
    """The lines of `git log`."""
    command = ["git", "log", *which]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_changes_that_people_notice_have_a_line() -> None:
    """Of the newest commits that change the product, ten at most came after the last new line."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone that knows its history")
    listed = commits("-1", "--format=%H", "--", "CHANGELOG.md")
    assert listed
    unlisted = commits("--no-merges", "--format=%h %s", f"{listed[0]}..HEAD", "--", *ROOMS)
    assert len(unlisted) <= MOST_UNLISTED, "CHANGELOG.md has no line for what these commits change"
