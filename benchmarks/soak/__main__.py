"""`python -m benchmarks.soak`: store and delete runs over and over, and write what grew."""

import tempfile
from pathlib import Path

import click

from benchmarks.accuracy.markdown import find_block
from benchmarks.soak.beside import clients_beside
from benchmarks.soak.curves import draw_curves
from benchmarks.soak.cycles import Cycle, repeat_cycles
from benchmarks.soak.describe import describe
from benchmarks.soak.judge import LIMIT, MEASURES
from benchmarks.speed.__main__ import SHARED, machine
from benchmarks.speed.measure import ROOT
from tracegraph.store.session import start_server, stop_server
from tracegraph.store.workspace import open_workspace
from tracegraph.workbench.bench import Workbench

_EXAMPLES = ROOT / "examples" / "traces"
_SMALL = [_EXAMPLES / f"{name}.json.gz" for name in ("simulated_gpu", "slow_loader", "two_threads")]
_MEDIUM = ("h1_qwen_h100.json.gz", "torch_cpu/gpt_10k.json.gz")
"""Recorded traces that are stored in turn with the small ones."""
_KEPT = ("torch_cpu/ddp_gloo_w2_straggler200_rank0.json.gz", "a6_torchao_ep_moe_b200_rank0_of_2.json.gz")
"""Runs that stay: without them most of the database would be dead, and it would be made anew.

That would hide what grows.
"""
_PATH = click.Path(path_type=Path)


@click.command()
@click.option("--cycles", "count", type=click.IntRange(4), default=100, show_default=True)
@click.option(
    "--warm-up", type=click.IntRange(0), default=10, show_default=True, help="Cycles before those that count."
)
@click.option("--traces", type=_PATH, default=SHARED / "traces", help="Folder of the recorded traces.")
@click.option(
    "--document",
    type=_PATH,
    default=ROOT / "docs" / "reliability.md",
    help="The document whose block is replaced, with the picture beside it; default: docs/reliability.md.",
)
@click.option(
    "--clients",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With more than one the others store, report on and delete small runs of their own meanwhile.",
)
def main(*, count: int, warm_up: int, traces: Path, document: Path, clients: int) -> None:
    """Store and delete runs against one server; fails where disk, memory or time grow."""
    block, picture = find_block(document, "soak"), document.with_name("soak.svg")
    cycles: list[Cycle] = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = open_workspace(Path(folder))
        start_server(workspace)
        try:
            with Workbench.open(workspace=folder, progress=False) as bench:
                for name in _KEPT:
                    bench.ingest(traces / name)
                cycled = [*_SMALL, *(traces / name for name in _MEDIUM)]
                with clients_beside(workspace.root, _SMALL, clients - 1):
                    for number, cycle in enumerate(
                        repeat_cycles(bench, cycled, warm_up + count), 1 - warm_up
                    ):
                        click.echo(f"{number}: {_figures(cycle)}", err=True)
                        cycles += [cycle] if number > 0 else []
        finally:
            stop_server(workspace)
    block.write(describe(cycles, machine(), picture.name))
    picture.write_text(draw_curves(cycles), encoding="utf-8")
    grown = [measure.name for measure in MEASURES if measure.grows(cycles)]
    if grown:
        raise click.ClickException(f"grew beyond {LIMIT} times: {', '.join(grown)}")


def _figures(cycle: Cycle) -> str:
    return ", ".join(f"{m.name} {m.values([cycle])[0]:,.1f} {m.unit}" for m in MEASURES)


if __name__ == "__main__":
    main()
