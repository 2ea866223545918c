"""The measured figures as Markdown."""

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.accuracy.markdown import table
from benchmarks.speed.history import NAMES, find_ratios
from benchmarks.speed.inputs import SIZES, Trace
from benchmarks.speed.measure import ALONE

Facts = dict[str, float]
Measured = dict[str, Facts]
_NAMES = {
    "decode": "decode only (floor)",
    "read": "read",
    "model": "causal graph",
    "what_if": "what if",
    "tables": "tables",
    "import_only": "offline import of a lean graph (floor)",
    "whole_way": "file → stored graph and printed report",
    "all_files": "file → the same and all files of the report",
    "report": "report on the stored run",
    "bolt": "load over Bolt",
}
_SLOW_S = 1.0
"""A query is listed if its first call takes at least this long."""


def describe(results: Sequence[tuple[Trace, Measured]], runs: Mapping[str, int], machine: str) -> str:
    """Write all tables: the ratios, then the stages and the slow queries of each trace."""
    sizes = dict.fromkeys(trace.size for trace, _ in results)
    medians = "medians of " + ", ".join(f"{runs[size]} at {size}" for size in sizes)
    parts = [f"{machine}; {medians}.", *_ratios(results)]
    for trace, stages in results:
        parts += [f"### {trace.name}", "", _graph_line(stages), "", _stage_table(stages), ""]
        parts += [_query_table(stages["queries"]), ""] if "queries" in stages else []
    return "\n".join(parts).rstrip()


def _ratios(results: Sequence[tuple[Trace, Measured]]) -> Iterator[str]:
    per_event = {(trace.kind, trace.size): _per_event(stages) for trace, stages in results}
    sizes = list(SIZES)
    rows = []
    for trace, stages in results:
        smaller = sizes[max(sizes.index(trace.size) - 1, 0)]
        before = per_event.get((trace.kind, smaller))
        growth = f"{_per_event(stages) / before:.2f}" if before and smaller != trace.size else ""
        whole, ratios = stages["whole_way"], find_ratios(stages)
        rows.append(
            (
                trace.name,
                f"{whole['verdict_s']:.1f} s",
                *(f"{getattr(ratios, name):.2f}" for name in NAMES),
                f"{whole['peak'] / 1e9:.2f} GB",
                f"{stages['report']['heap'] / 1e9:.2f} GB",
                f"{stages['report']['wall_s']:.1f} s",
                f"{stages['report']['cpu_s'] + stages['report']['server_cpu_s']:.1f} s",
                growth,
            )
        )
    columns = (
        *("trace", "first screen, s"),
        *(f"{name} / floors" for name in NAMES.values()),
        *("Python's peak", "server's heap"),
        *("report on the stored run", "its CPU", "CPU an event against the next smaller"),
    )
    yield from ("", table(columns, rows), "")


def _per_event(stages: Measured) -> float:
    """Return the CPU seconds of the whole way for each event."""
    whole = stages["whole_way"]
    return (whole["cpu_s"] + whole["server_cpu_s"]) / stages["tables"]["events"]


def _graph_line(stages: Measured) -> str:
    sizes, whole = stages["tables"], stages["whole_way"]
    events = sizes["events"]
    parts = [f"{sizes[name] / events:.2f} {name}" for name in ("nodes", "relationships", "properties")]
    text = f"{events:,.0f} events; an event: {', '.join(parts)}; on disk {whole['disk'] / 1e6:,.0f} MB."
    if "bolt" not in stages:
        return text
    return f"{text} Over Bolt {stages['bolt']['rows_per_s']:,.0f} nodes and relationships a second."


def _stage_table(stages: Measured) -> str:
    rows = []
    for stage in (name for name in _NAMES if name in stages):
        facts = stages[stage]
        server = f"{facts['server_peak'] / 1e9:.2f} GB" if facts["server_peak"] else ""
        cpu = facts["cpu_s"] + facts["server_cpu_s"] * (stage not in ALONE)
        rows.append(
            (_NAMES[stage], f"{facts['wall_s']:.2f}", f"{cpu:.2f}", f"{facts['peak'] / 1e9:.2f} GB", server)
        )
    return table(("stage", "wall, s", "CPU, s", "Python's peak", "server's peak"), rows)


def _query_table(facts: Facts) -> str:
    names = [name.removesuffix(" wall_s") for name in facts if name.endswith(" wall_s")]
    slow = sorted((n for n in names if facts[f"{n} wall_s"] >= _SLOW_S), key=lambda n: -facts[f"{n} wall_s"])
    quick = f"{len(names) - len(slow)} of {len(names)} queries took less than {_SLOW_S:.0f} s at first."
    if not slow:
        return quick
    seconds = ("wall_s", "again_s")
    rows = [
        (f"`{n}`", *(f"{facts[f'{n} {call}']:.1f}" for call in seconds), f"{facts[f'{n} rows']:,.0f}")
        for n in slow
    ]
    return f"{quick}\n\n{table(('query', 'first call, s', 'second call, s', 'rows'), rows)}"
