"""A page on recordings of memory that needs nothing else."""

from collections.abc import Sequence
from pathlib import PurePath

from tracegraph.base.units import format_bytes
from tracegraph.workbench.memory.content import Fixed, memory_row, page_sections
from tracegraph.workbench.output.page import Head, Shown, sections_page
from tracegraph.workbench.sections.section import MEMORY
from tracegraph.workbench.text.text import plural


def memory_page(found: Sequence[Fixed]) -> str:
    """Return the page as text; names from the files are only text or data in it."""
    sections = [
        Shown(f"memory_{place}", title, blocks, MEMORY)
        for place, (title, blocks) in enumerate(page_sections(found))
    ]
    most = max((one for one, _ in found), key=lambda one: one.peak.bytes)
    facts = (plural(len(found), "recording"), f"peak {format_bytes(most.peak.bytes)}")
    numbers = {"recordings": [memory_row(*one) for one in found]}
    head = Head(f"Memory of {PurePath(most.path).name}", facts)
    return sections_page(head, sections, ("memory.json", numbers))
