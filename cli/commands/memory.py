"""`tracegraph memory`: what fills the memory of a device, from snapshots, timelines and traces."""

import json
from pathlib import Path

import click

from tracegraph.cli.options import file_option, form_of, limit_option
from tracegraph.cli.reporters.every_section import print_sections
from tracegraph.cli.reporters.layout import open_console
from tracegraph.ingest.companions.memory.fixes import memory_fixes
from tracegraph.ingest.companions.memory.recording import read_recordings
from tracegraph.ingest.limits import Limits
from tracegraph.workbench.memory.content import memory_row, page_sections
from tracegraph.workbench.memory.page import memory_page


@click.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path)
)
@form_of("table", "json", meaning="Form: tables for people, json with exact numbers for scripts.")
@click.option(
    "--gpus",
    type=click.IntRange(2),
    default=2,
    show_default=True,
    help="Over how many GPUs the stages of ZeRO would split the memory.",
)
@file_option("Page (.html) with pictures to write, too.")
@limit_option
def memory(files: tuple[Path, ...], form: str, gpus: int, output: Path | None, limits: Limits) -> None:
    """Say what fills the memory at its peak, where that was allocated, and what lowers the peak.

    FILE is a snapshot of the CUDA allocator (torch.cuda.memory._dump_snapshot), a memory timeline of
    PyTorch's profiler (export_memory_timeline, .raw.json.gz), or a trace that it recorded with
    profile_memory=True, and with_stack=True for sources and checkpointing. Nothing is stored and no database
    is needed.
    """
    recordings = (one for file in files for one in read_recordings(file, limits))
    found = [(one, memory_fixes(one, gpus)) for one in recordings]
    if form == "json":
        click.echo(json.dumps({"recordings": [memory_row(*one) for one in found]}, indent=1))
    else:
        print_sections(open_console(), page_sections(found))
    if output is not None:
        output.write_text(memory_page(found), encoding="utf-8")
