"""`python -m benchmarks.accuracy COMMAND`: make a table of benchmarks/results and write it there."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import pandas as pd

from benchmarks.accuracy.ablation import ablate, describe_ablation
from benchmarks.accuracy.calibration import describe_calibration, halves
from benchmarks.accuracy.calibration import judge_all as judge_edges
from benchmarks.accuracy.diff import (
    describe_recorded,
    describe_situations,
    judge_recorded,
    judge_situations,
)
from benchmarks.accuracy.files import describe_files, kineto_files, measure
from benchmarks.accuracy.fixes import describe_fixes, judge_fixes
from benchmarks.accuracy.harder import (
    compare_ways,
    describe_harder,
    describe_ways,
    harder_sets,
    judge_all,
    sample_sets,
)
from benchmarks.accuracy.jobs import describe_jobs, job_sets, judge_jobs
from benchmarks.accuracy.markdown import find_block
from benchmarks.accuracy.nsight import describe_forms, judge_forms, report_sets
from benchmarks.accuracy.options import (
    ROOT,
    SHARED,
    counted,
    open_oracle,
    processes_option,
    simulated,
    written,
)
from benchmarks.accuracy.paths import CommandLine, one_server, path_in_columns
from benchmarks.accuracy.scores import FindPath, describe_scores, score_all
from benchmarks.accuracy.sets import SCENARIOS, VARIANTS
from benchmarks.accuracy.silences import describe_silences, find_silences
from benchmarks.accuracy.step_pairs import SITUATIONS
from benchmarks.accuracy.under import describe_under, judge_under
from benchmarks.accuracy.vary import damaged_sets, describe_damaged, judge_damaged
from benchmarks.accuracy.verdicts import (
    REASONS,
    chosen_inputs,
    describe_changes,
    describe_verdicts,
    save,
    saved,
    say_first,
)

_PATH = click.Path(path_type=Path)
THROUGH = {
    "cli": "as `tracegraph query critical_path` gives it",
    "columns": "taken from the columns in memory",
}
"""The ways to a path, and how the document describes each."""


@click.group()
def main() -> None:
    """Make the tables of benchmarks/results, from which docs/accuracy.md takes what it claims."""


@main.command()
@simulated("harder.md", seeds="0-4", events=10_000)
@processes_option
@click.option("--mix", "mixes", multiple=True, help="Options of the simulator, instead of the list.")
@click.option("--sample", type=int, help="Compare so many sets with the database's answer.")
def harder(
    *,
    seeds: range,
    events: int,
    processes: int,
    mixes: Sequence[str],
    sample: int | None,
    oracle_folder: Path,
    folder: Path | None,
    document: Path,
) -> None:
    """Score path and what-if of simulations that are as hard as real files."""
    block = find_block(document, "harder" if sample is None else "harder-stored")
    with open_oracle(oracle_folder, folder) as oracle:
        sets = harder_sets(oracle, mixes, seeds, events)
        if sample is None:
            text = describe_harder(list(counted(judge_all(oracle, sets, processes), len(sets))))
        else:
            chosen = sample_sets(sets, sample)
            with _commands(oracle.place) as commands:
                pairs = list(counted(compare_ways(oracle, chosen, commands.answer), len(chosen)))
            text = describe_ways(pairs)
    block.write(text)


@main.command()
@simulated("under.md", seeds="0-1", events=10_000)
@processes_option
@click.option("--mix", "mixes", multiple=True, help="Options of the simulator, instead of the list.")
def under(
    *,
    seeds: range,
    events: int,
    processes: int,
    mixes: Sequence[str],
    oracle_folder: Path,
    folder: Path | None,
    document: Path,
) -> None:
    """Score what-if of all under each annotation, in both halves of the simulations."""
    block = find_block(document, "under")
    with open_oracle(oracle_folder, folder) as oracle:
        kinder = [] if mixes else oracle.matrix(list(SCENARIOS), VARIANTS, seeds, events)
        sets = kinder + harder_sets(oracle, mixes, seeds, events)
        found = list(counted(judge_under(oracle, sets, processes), len(sets)))
    block.write(describe_under([one for several in found for one in several]))


@main.command()
@simulated("fixes.md", seeds="0-4", events=10_000)
@processes_option
@click.option("--mix", "mixes", multiple=True, help="Options of the simulator, instead of the list.")
def fixes(
    *,
    seeds: range,
    events: int,
    processes: int,
    mixes: Sequence[str],
    oracle_folder: Path,
    folder: Path | None,
    document: Path,
) -> None:
    """Score what fixes gain, alone and in pairs, in both halves of the simulations."""
    block = find_block(document, "fixes")
    with open_oracle(oracle_folder, folder) as oracle:
        kinder = [] if mixes else oracle.matrix(list(SCENARIOS), VARIANTS, seeds, events)
        sets = kinder + harder_sets(oracle, mixes, seeds, events)
        found = list(counted(judge_fixes(oracle, sets, processes), len(sets)))
    block.write(describe_fixes([one for several in found for one in several]))


@main.command()
@simulated("jobs.md", seeds="1-3", events=6_000)
@processes_option
def jobs(
    *, seeds: range, events: int, processes: int, oracle_folder: Path, folder: Path | None, document: Path
) -> None:
    """Score path, clocks, the late rank and what-if of jobs of several ranks."""
    block = find_block(document, "jobs")
    with open_oracle(oracle_folder, folder) as oracle:
        sets = job_sets(oracle, seeds, events)
        found = list(counted(judge_jobs(oracle, sets, processes), len(sets)))
    block.write(describe_jobs(found))


@main.command()
@simulated("diff.md", seeds="1-2", events=300)
def diff(*, seeds: range, events: int, oracle_folder: Path, folder: Path | None, document: Path) -> None:
    """Score how well differences of steps are told from chance."""
    blocks = find_block(document, "diff"), find_block(document, "diff-recorded")
    blocks[0].write(describe_situations(list(counted(judge_situations(), len(SITUATIONS)))))
    with open_oracle(oracle_folder, folder) as oracle, _commands(oracle.place) as commands:
        found = [one for pair in judge_recorded(oracle, commands, seeds, events) for one in pair]
    blocks[1].write(describe_recorded(found))


@main.command()
@simulated("vary.md", seeds="0-1", events=10_000)
@processes_option
@click.option("--damage", "only", multiple=True, help="Only this damage, a name of `vary.py --list`.")
def vary(
    *,
    seeds: range,
    events: int,
    processes: int,
    only: Sequence[str],
    oracle_folder: Path,
    folder: Path | None,
    document: Path,
) -> None:
    """Score path and what-if of simulations that are damaged as recordings are."""
    block = find_block(document, "vary")
    with open_oracle(oracle_folder, folder) as oracle:
        sets = damaged_sets(oracle, only, seeds, events)
        text = describe_damaged(list(counted(judge_damaged(oracle, sets, processes), len(sets))))
    block.write(text)


@main.command()
@simulated("nsight.md", seeds="0-1", events=10_000)
@processes_option
@click.option("--mix", "mixes", multiple=True, help="Options of the simulator, instead of the list.")
def nsight(
    *,
    seeds: range,
    events: int,
    processes: int,
    mixes: Sequence[str],
    oracle_folder: Path,
    folder: Path | None,
    document: Path,
) -> None:
    """Score path and what-if of simulations written as reports of Nsight Systems, beside Kineto's."""
    block = find_block(document, "nsight")
    with open_oracle(oracle_folder, folder) as oracle:
        sets = report_sets(oracle, mixes, seeds, events)
        found = list(counted(judge_forms(oracle, sets, processes), len(sets)))
    block.write(describe_forms(found))


@main.command()
@simulated("scores.md", seeds="0-4", events=20_000)
@click.option(
    "--through",
    type=click.Choice(list(THROUGH)),
    default="cli",
    show_default=True,
    help="The whole way through `tracegraph report` and the database, or the columns alone.",
)
@click.option("--mix", "mixes", multiple=True, help="Options of the simulator, instead of the scenarios.")
def scores(
    *,
    seeds: range,
    events: int,
    through: str,
    mixes: Sequence[str],
    oracle_folder: Path,
    folder: Path | None,
    document: Path,
) -> None:
    """Score the paths of the simulated scenarios against their known truth."""
    block = find_block(document, "scores")
    with open_oracle(oracle_folder, folder) as oracle:
        sets = oracle.matrix(mixes or list(SCENARIOS), VARIANTS, seeds, events)
        with _path_finder(through, oracle.place) as find_path:
            results = list(counted(score_all(oracle, sets, find_path), len(sets)))
    block.write(describe_scores(results, THROUGH[through]))


@main.command()
@simulated("ablation.md", seeds="1-2", events=20_000)
def ablation(*, seeds: range, events: int, oracle_folder: Path, folder: Path | None, document: Path) -> None:
    """Score the same sets with each rule of the causal model left out."""
    block = find_block(document, "ablation")
    with open_oracle(oracle_folder, folder) as oracle:
        sets = oracle.matrix(list(SCENARIOS), VARIANTS, seeds, events)
        results = list(counted(ablate(oracle, sets), len(sets)))
    block.write(describe_ablation(results))


@main.command()
@simulated("calibration.md", seeds="0-4", events=10_000)
@processes_option
def calibration(
    *, seeds: range, events: int, processes: int, oracle_folder: Path, folder: Path | None, document: Path
) -> None:
    """Compare confidence with the share of edges that are true, over the whole graph."""
    block = find_block(document, "calibration")
    with open_oracle(oracle_folder, folder) as oracle:
        parts = {
            name: pd.concat(counted(judge_edges(oracle, sets, processes), len(sets)))
            for name, sets in halves(oracle, seeds, events).items()
        }
    block.write(describe_calibration(parts))


@main.command()
@written("files.md", traces=True)
def files(*, traces: Path, document: Path) -> None:
    """Measure what the path of every real file consists of."""
    block = find_block(document, "files")
    paths = _real_files(traces)
    measured = list(counted((measure(traces, path) for path in paths), len(paths)))
    block.write(describe_files(measured))


@main.command()
@written("silences.md", traces=True)
def silences(*, traces: Path, document: Path) -> None:
    """List long calls and silences that count as work or untraced, with what was seen around them."""
    block = find_block(document, "silences")
    paths = [path for path in _real_files(traces) if "derived" not in path.relative_to(traces).parts]
    found = list(counted((find_silences(traces, path) for path in paths), len(paths)))
    block.write(describe_silences([silence for file in found for silence in file]))


@main.command()
@written("verdicts.md", traces=True)
@click.option("--cases", type=_PATH, default=SHARED / "cases", help="Folder of public reports' patterns.")
@click.option("--save", "kept", type=_PATH, help="Keep the verdicts in this file, to compare with later.")
@click.option("--before", type=_PATH, help="Compare with the verdicts that --save kept in this file.")
def verdicts(*, traces: Path, document: Path, cases: Path, kept: Path | None, before: Path | None) -> None:
    """List what a report says first of real files, jobs, public reports and examples, and what changed."""
    block, changes = find_block(document, "verdicts"), find_block(document, "changes")
    inputs = chosen_inputs(ROOT / "examples" / "traces", [traces, cases])
    with tempfile.TemporaryDirectory() as workspace:
        said = list(counted(say_first(inputs, Path(workspace)), len(inputs)))
    if kept:
        save(said, kept)
    block.write(describe_verdicts(said))
    if before:
        changes.write(describe_changes(saved(before), said, json.loads(REASONS.read_text())))


def _real_files(folder: Path) -> list[Path]:
    paths = kineto_files(folder)
    if not paths:
        raise click.ClickException(f"{folder} holds no Kineto file; name the folder with --traces")
    return paths


@contextmanager
def _path_finder(through: str, place: Path) -> Iterator[FindPath]:
    if through == "columns":
        yield path_in_columns
        return
    with _commands(place) as commands:
        yield commands.path


@contextmanager
def _commands(place: Path) -> Iterator[CommandLine]:
    with tempfile.TemporaryDirectory(dir=place) as workspace, one_server(Path(workspace)) as commands:
        yield commands


if __name__ == "__main__":
    main()
