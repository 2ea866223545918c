"""Draw docs/storeys.svg and list the packages in docs/architecture.md: `python docs/storeys.py`."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import graphviz

from tracegraph.workbench.pictures.drawing import draw

ROOT = Path(__file__).resolve().parents[1]
STOREYS = (("cli",), ("workbench",), ("queries", "ingest"), ("store",), ("vocabulary",), ("base",))
"""From the top: each knows only what lies below it; two on one level do not know each other."""
_FONT = "Helvetica,Arial,sans-serif"


def sentence_of(package: Path) -> str:
    """Return the first sentence of a package, which says what is in it."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    return text.partition("\n")[0].rstrip(".")


def packages_below(storey: str) -> Iterator[Path]:
    """Yield the folders of the packages of a storey, itself first."""
    for file in sorted((ROOT / storey).rglob("__init__.py"), key=lambda one: one.parent.parts):
        yield file.parent


def picture() -> graphviz.Digraph:
    """Draw a box for each storey with its packages, and arrows from each level to the one below."""
    graph = graphviz.Digraph("storeys", node_attr={"shape": "box", "style": "rounded", "fontname": _FONT})
    graph.attr(rankdir="TB", ranksep="0.3", nodesep="0.4")
    for storey in (one for level in STOREYS for one in level):
        folders = [path.relative_to(ROOT / storey).parts for path in packages_below(storey)]
        inner = ", ".join(parts[0] for parts in folders if len(parts) == 1)
        lines = [f"<b>{storey}</b>", sentence_of(ROOT / storey), *([f"<i>{inner}</i>"] if inner else [])]
        graph.node(storey, label="<" + "<br/>".join(lines) + ">")
    for above, below in pairwise(STOREYS):
        for one in above:
            graph.edges([(one, other) for other in below])
    return graph


def listed() -> str:
    """Write the Markdown table with a row for each package."""
    rows = [
        f"| `{package.relative_to(ROOT).as_posix()}/` | {sentence_of(package)} |"
        for level in STOREYS
        for storey in level
        for package in packages_below(storey)
    ]
    return "\n".join(["| folder | what is in it |", "|---|---|", *rows])


def with_list(page: str) -> str:
    """Replace the list between the markers of a page by today's."""
    return re.sub(r"(<!-- storeys -->\n).*?(<!-- /storeys -->)", rf"\1{listed()}\n\2", page, flags=re.DOTALL)


if __name__ == "__main__":
    page = ROOT / "docs" / "architecture.md"
    page.write_text(with_list(page.read_text()))
    (ROOT / "docs" / "storeys.svg").write_bytes(draw(picture().source, "svg"))
