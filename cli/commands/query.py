"""`tracegraph query`: the named queries."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.cli.context import Context, pass_context
from tracegraph.cli.job_options import job_file_option, read_job, say_instead
from tracegraph.cli.options import (
    Part,
    name_option,
    parameter_option,
    parse_assignments,
    part_options,
    result_options,
    timeout_option,
)
from tracegraph.cli.reporters.frame import write_frame
from tracegraph.cli.warning_lines import warnings_shown
from tracegraph.queries.catalog import Query, find, queries
from tracegraph.queries.runs import parameters, parse
from tracegraph.queries.shapes.peak.job import STATED_PARAMETERS, stated_job
from tracegraph.queries.shapes.two_windows import RUN

if TYPE_CHECKING:
    from tracegraph.workbench.bench import Workbench

_LANES, _LANE = "lanes", "lane"
"""The query that lists the lanes, and what columns with the number of one are called."""


def _query_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in queries() if name.startswith(incomplete)]


@click.command()
@click.argument("query_name", metavar="[NAME]", required=False, shell_complete=_query_names)
@click.option("--list", "listing", is_flag=True, help="List the queries.")
@click.option("--describe", is_flag=True, help="Show the query's parameters and columns.")
@name_option("Name of the run; default: the newest.")
@part_options("Window of this")
@click.option("--rank", type=int, help="Rank; of a step or phase, by default the one that ends it last.")
@parameter_option
@job_file_option()
@timeout_option(None)
@click.option("--rows", "most", type=click.IntRange(1), help="How many rows are shown; default: all.")
@result_options
@pass_context
def query(
    context: Context,
    *,
    query_name: str | None,
    listing: bool,
    describe: bool,
    name: str | None,
    part: Part,
    rank: int | None,
    assignments: tuple[str, ...],
    job_file: Path | None,
    limit_s: float | None,
    most: int | None,
    output: Path | None,
    form: str,
    raw: bool,
) -> None:
    """Run the query NAME and show its rows.

    A query about a window takes that of the whole run, of one step with --step, or of one phase of it with
    --phase, unless it is given its start_ns, end_ns and chain.
    """
    if listing:
        rows = pd.DataFrame([(q.name, q.summary) for q in queries().values()], columns=["name", "summary"])
        write_frame(rows, form, output, raw=raw)
        return
    if query_name is None:
        raise InputError("no query is named", "tracegraph query --list shows them")
    chosen = find(query_name)
    if describe:
        click.echo(chosen.summary)
        write_frame(_fields(chosen), form, output, raw=raw)
        return
    options = _assigned(run=name, **part, rank=rank)
    texts = {**_stated(chosen, job_file), **parse_assignments((*assignments, *options))}
    rows = _rows(context, chosen, texts, limit_s, named_lanes=form == "table")
    write_frame(rows.head(most or len(rows)), form, output, chosen.columns, raw=raw)
    if most is not None and most < len(rows):
        click.echo(f"{most:,} of {len(rows):,} rows; a larger --rows shows more", err=True)
    if rows.empty and chosen.empty_when is not None:
        click.echo(f"no rows, as when {chosen.empty_when}", err=True)


def _assigned(**options: object) -> list[str]:
    """Write options as -p takes them: an option and a -p for the same are then a parameter given twice."""
    return [f"{name}={value}" for name, value in options.items() if value is not None]


def _fields(query: Query) -> pd.DataFrame:
    inputs = [("parameter", p.name, p.type, p.meaning) for p in parameters(query)]
    outputs = [("column", c.name, c.type, c.meaning) for c in query.columns]
    return pd.DataFrame(inputs + outputs, columns=["kind", "name", "type", "meaning"])


def _stated(chosen: Query, job_file: Path | None) -> dict[str, str]:
    """Return what the file says of the job, of what the query takes."""
    said = {} if job_file is None else read_job(job_file)
    return {name: str(value) for name, value in said.items() if chosen.takes(name)}


def _rows(
    context: Context, query: Query, texts: Mapping[str, str], limit_s: float | None, *, named_lanes: bool
) -> pd.DataFrame:
    values = parse(query, texts)
    with warnings_shown(), context.bench() as bench:
        bench.limit_s = limit_s
        rows = bench.ask(query.name, **values)
        instead = list(_instead(bench, query, values))
        numbered = [name for name in rows.columns if name == _LANE or name.endswith(f"_{_LANE}")]
        if named_lanes and numbered and query.name != _LANES:
            rows = _with_lane_names(rows, numbered, bench.ask(_LANES, run=values.get(RUN)))
    say_instead(context, instead)
    return rows


def _instead(bench: "Workbench", query: Query, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what counts instead of what was said of the job at ingest, if anything is said here."""
    named = [one.name for one in query.parameters if one in STATED_PARAMETERS]
    job = stated_job({name: values[name] for name in named if name in values})
    if job.asked:
        yield from job.instead_of(bench.run(values.get(RUN)).stated_job())


def _with_lane_names(rows: pd.DataFrame, numbered: Sequence[str], lanes: pd.DataFrame) -> pd.DataFrame:
    """Put names in the place of numbers of lanes, which tell people nothing; some rows have them already."""
    names = dict(zip(lanes["lane"], lanes["name"], strict=True))
    beside = {name: f"{name}_name" for name in numbered if f"{name}_name" in rows.columns}
    named = {name: rows[beside[name]] if name in beside else rows[name].map(names) for name in numbered}
    return rows.assign(**named).drop(columns=list(beside.values()))
