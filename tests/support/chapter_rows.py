"""The rows of docs/differences_from_chapter.md, by heading and by what they are about."""

from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "differences_from_chapter.md"


def rows_of(*headings: str) -> dict[str, str]:
    """Return the cells after the first one of each row below some headings, by the first one."""
    found, heading = {}, ""
    for line in _PAGE.read_text().splitlines():
        heading = line.removeprefix("## ") if line.startswith("## ") else heading
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if heading in headings and line.startswith("| ") and cells[0] != "about":
            found[cells[0]] = " | ".join(cells[1:])
    return found


def headings() -> list[str]:
    """Return the headings of the page's parts."""
    return [line.removeprefix("## ") for line in _PAGE.read_text().splitlines() if line.startswith("## ")]
