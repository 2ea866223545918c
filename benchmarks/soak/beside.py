"""Clients beside the cycles: processes that store, report on and delete runs of their own."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from threading import Event, Thread

import click

from benchmarks.speed.measure import ROOT
from tracegraph.workbench.bench import Workbench

_LIMIT_S = 600
"""How long a client may take to finish the work that it has begun."""


@contextmanager
def clients_beside(workspace: Path, traces: Sequence[Path], clients: int) -> Iterator[None]:
    """Run some clients while the block runs; end the command if one of them failed."""
    words = [sys.executable, "-m", "benchmarks.soak.beside", str(workspace), *map(str, traces)]
    with ExitStack() as stack:
        begun = [
            stack.enter_context(subprocess.Popen([*words, f"--name=beside {number}"], stdin=-1, cwd=ROOT))
            for number in range(clients)
        ]
        yield
        for client in begun:
            assert client.stdin is not None
            client.stdin.close()  # which tells it to end
        if any(client.wait(_LIMIT_S) for client in begun):
            raise click.ClickException("a client beside the cycles failed")


@click.command()
@click.argument("workspace")
@click.argument("traces", nargs=-1, type=click.Path(path_type=Path))
@click.option("--name", default="beside", help="How its runs are called.")
def main(*, workspace: str, traces: tuple[Path, ...], name: str) -> None:
    """Store, report on and delete runs of the TRACES in turn, until stdin is closed."""
    ended = Event()
    Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with Workbench.open(workspace=workspace, progress=False) as bench:
        for number in count():
            if ended.is_set():
                return
            run = bench.ingest(traces[number % len(traces)], f"{name}, {number}")
            run.report(drawn=False)
            run.delete()


if __name__ == "__main__":
    main()
