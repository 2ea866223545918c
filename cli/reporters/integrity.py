"""Shows what was odd in the input: as plain lines, and as the page that `doctor` prints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracegraph.base.errors import InputError
from tracegraph.ingest.inspection import Inspection, JobInspection
from tracegraph.ingest.integrity_findings import Finding
from tracegraph.vocabulary.integrity_codes import DOUBTFUL
from tracegraph.workbench.text.text import format_ns, format_share, label, plural, visible

_MESSAGE_CELLS = 400
"""How many cells a message may take before it is shortened."""
_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def integrity_lines(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Return `level code count message` for each row that is an error or a warning, in the given order."""
    return [
        f"{row['level']} {row['code']} {row['count']:,} {label(str(row['message']), _MESSAGE_CELLS)}"
        for row in rows
        if row["level"] in DOUBTFUL
    ]


def add_findings(table: Table, rows: Iterable[Mapping[str, object]]) -> None:
    """Add a line of level, code, count and message for each finding."""
    for row in rows:
        level = str(row["level"])
        table.add_row(
            Text(label(level, 10), style=_STYLES.get(level, "")),
            Text(label(str(row["code"]), 30)),
            f"{row['count']:,}",
            Text(label(str(row["message"]), _MESSAGE_CELLS)),
        )


def print_inspection(console: Console, file: str, found: Inspection | InputError) -> None:
    """Print what of a file cannot be relied on, then all findings; of an unusable file the reason."""
    if isinstance(found, InputError):
        console.print(Text(f"cannot be used: {label(str(found), _MESSAGE_CELLS)}", style="bold red"))
        console.print()
        return
    lost = [finding for finding in found.findings if _limits_the_report(finding)]
    console.print(Text(visible(file), style="bold"))
    if lost:
        console.print(Text("Not to be relied on: a report cannot stand for", style="bold"))
        console.print(_shares(lost))
    else:
        console.print(Text("A report can stand for all of its time.", style="green"))
    console.print(Text(_holds(found)))
    console.print()
    console.print(_table(found.findings) if found.findings else Text("Nothing odd was found.", style="green"))
    console.print()
    if found.unanswered:
        console.print(Text("It cannot answer, and what to record for that:", style="bold"))
        rows = Table.grid(padding=(0, 2))
        for question, record in found.unanswered:
            rows.add_row("", Text(question), Text(record.replace("`", "")))
        console.print(rows)
        console.print()


def print_job(console: Console, found: JobInspection | InputError) -> None:
    """Print what joining the files as the ranks of one job finds, or why they cannot be joined."""
    if isinstance(found, InputError):
        console.print(Text(f"Not the ranks of one job: {label(str(found), _MESSAGE_CELLS)}", style="yellow"))
        return
    console.print(Text("All ranks together", style="bold"))
    console.print(Text(f"{plural(len(found.ranks), 'rank')} met in {plural(found.operations, 'operation')}."))
    console.print()
    console.print(_table(found.findings) if found.findings else Text("Nothing odd was found.", style="green"))


def _limits_the_report(finding: Finding) -> bool:
    return finding.level == "error" or (finding.level == "warning" and finding.share is not None)


def _shares(findings: Sequence[Finding]) -> Table:
    """Return one line for each finding: the share of time, if it is known, and the code."""
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        share = "unknown share" if finding.share is None else format_share(finding.share)
        style = _STYLES[finding.level]
        count = Text(plural(finding.count, "case"))
        table.add_row("", Text(share, style=style, justify="right"), Text(finding.code, style=style), count)
    return table


def _holds(found: Inspection) -> str:
    memory = f", {plural(found.memory_rows, 'memory row')}" if found.memory_rows else ""
    ranks = f"ranks {', '.join(map(str, found.ranks))}" if found.ranks else f"rank {found.rank}"
    return (
        f"It holds {ranks}, {plural(found.events, 'event')}, {plural(found.threads, 'thread')}, "
        f"{plural(found.streams, 'stream')}, {plural(found.steps, 'step')}{memory}; "
        f"window {format_ns(found.window_ns)}."
    )


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    table.add_column("level", no_wrap=True)
    table.add_column("code", no_wrap=True)
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold")
    add_findings(table, map(asdict, findings))
    return table
