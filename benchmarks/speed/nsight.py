"""`python -m benchmarks.speed.nsight`: a report of Nsight Systems against a Kineto file of equal events."""

import gzip
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from benchmarks.accuracy.markdown import find_block, table
from benchmarks.accuracy.nsight_tables import Form, write_report
from benchmarks.speed.__main__ import machine
from benchmarks.speed.inputs import SIZES, Trace, simulated
from benchmarks.speed.measure import ROOT, Facts, fresh, medians, run_stage, tracegraph
from benchmarks.speed.ranks import oracle_option

_WHOLE = "whole_way"
_STAGES = {
    "read": "read",
    "model": "causal graph",
    _WHOLE: "file → stored graph and printed report",
}
_PATH = click.Path(path_type=Path)
Measured = Mapping[str, Facts]


@click.command()
@click.option("--size", type=click.Choice(list(SIZES)), default="1M", show_default=True)
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True, help="Medians count.")
@click.option(
    "--repeat-whole", type=click.IntRange(0), default=1, show_default=True, help="Of the whole way."
)
@oracle_option
@click.option("--folder", type=_PATH, help="Keep both files here for the next time.")
@click.option("--document", type=_PATH, default=ROOT / "docs" / "nsight.md", help="Where the table goes.")
def main(
    *, size: str, repeat: int, repeat_whole: int, oracle: Path, folder: Path | None, document: Path
) -> None:
    """Time a simulation as a Kineto file and as a report of Nsight Systems, and write the table."""
    block = find_block(document, "nsight-speed")
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        kineto = simulated(oracle, place, size)
        files = Trace("Kineto", size, kineto), Trace("Nsight", size, _report_of(kineto))
        kept: dict[str, dict[str, list[Facts]]] = {
            one.kind: {stage: [] for stage in _STAGES} for one in files
        }
        for stage in _STAGES:
            for _ in range(repeat_whole if stage == _WHOLE else repeat):
                for one in files:  # by turns, so that a busy machine is as busy for both
                    facts = _run(stage, one, place / "workspace")
                    kept[one.kind][stage].append(facts)
                    click.echo(f"{one.name}: {stage} {facts['cpu_s']:.2f} s of CPU", err=True)
        found = {
            kind: {stage: medians(runs) for stage, runs in stages.items() if runs}
            for kind, stages in kept.items()
        }
        sizes = {one.kind: one.path.stat().st_size for one in files}
    runs = f"medians of {repeat}" + (f", of the whole way {repeat_whole}" if repeat_whole else "")
    block.write(_describe(found, sizes, f"{machine()}; {size} events, {runs}"))


def _report_of(kineto: Path) -> Path:
    """Write the entries of a packed Kineto file as a report beside it, unless that is there."""
    made = kineto.with_name(kineto.name.replace(".json.gz", ".sqlite"))
    if not made.exists():
        write_report(json.loads(gzip.decompress(kineto.read_bytes()))["traceEvents"], Form(), made)
    return made


def _run(stage: str, trace: Trace, workspace: Path) -> Facts:
    facts = run_stage(stage, trace.path, fresh(workspace))
    if workspace.exists():
        tracegraph(workspace, "stop")
        fresh(workspace)
    return facts


def _describe(found: Mapping[str, Measured], sizes: Mapping[str, int], how: str) -> str:
    columns = ("stage", *(f"{kind}, {what}" for kind in found for what in ("CPU, s", "peak")), "CPU, ratio")
    shown = ", ".join(f"{kind} {size / 1e6:,.1f} MB" for kind, size in sizes.items())
    return f"{how}. On disk: {shown}.\n\n{table(columns, _rows(found))}"


def _rows(found: Mapping[str, Measured]) -> Iterator[list[str]]:
    first = next(iter(found.values()))
    for stage, name in ((stage, name) for stage, name in _STAGES.items() if stage in first):
        all_facts = [stages[stage] for stages in found.values()]
        seconds = [facts["cpu_s"] + facts["server_cpu_s"] for facts in all_facts]
        cells = [
            text
            for cpu_s, facts in zip(seconds, all_facts, strict=True)
            for text in (f"{cpu_s:.2f}", f"{facts['peak'] / 1e9:.2f} GB")
        ]
        yield [name, *cells, f"{seconds[1] / seconds[0]:.2f}"]


if __name__ == "__main__":
    main()
