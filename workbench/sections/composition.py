"""What the path is made of, by category and by dependency."""

from collections.abc import Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.pictures.palette import category_colour, dependency_colour
from tracegraph.workbench.sections.blocks import Bars, Block
from tracegraph.workbench.sections.section import PATH, Section


def _content(findings: Findings) -> Sequence[Block]:
    whole = findings.length_ns
    categories, dependencies = findings.by_category_ns, findings.by_dependency_ns
    return [
        Bars("by category", categories, whole, {name: category_colour(name) for name in categories}),
        Bars("by dependency", dependencies, whole, {name: dependency_colour(name) for name in dependencies}),
    ]


SECTION = Section(50, "Composition", _content, group=PATH)
