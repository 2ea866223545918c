"""The run: how much the graph holds of it."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Words
from tracegraph.workbench.sections.section import ANSWER, Section
from tracegraph.workbench.text.text import format_ns, format_rate, label, plural, visible

_DEVICES = 2
"""How many kinds of devices are named."""
_NS_PER_S = 1e9
_NAME_CELLS = 80
"""How many cells the name of the run may take before it is shortened."""


def _title(findings: Findings) -> str:
    return f"Run {label(findings.details.name, _NAME_CELLS)}"


def run_facts(findings: Findings) -> Sequence[str]:
    """Say in a few words which run this is: its ranks, their devices, and how much they recorded."""
    details, traces = findings.details, findings.answers.get("traces")
    listed = [] if traces is None else [json.loads(text) for text in traces["devices"]]
    devices = Counter(name for names in listed for name in set(names))
    found = [name for name, _ in devices.most_common(_DEVICES)]
    return (plural(details.ranks, "rank"), *found, plural(details.events, "event"))


def _content(findings: Findings) -> Sequence[Block]:
    details = findings.details
    edges = sum(details.relationships.values())
    counts = (
        f"{plural(details.ranks, 'rank')}, {plural(details.events, 'event')}; in the graph "
        f"{plural(details.nodes, 'node')} and {plural(edges, 'relationship')}"
    )
    said = (*_of_job(findings), *_pace(findings))
    return [Words(counts), *(Words(sentence, "note") for sentence in said)]


def _of_job(findings: Findings) -> Iterator[str]:
    """Say what was said of the job at ingest, and what counts instead."""
    said = ", ".join(findings.job_at_ingest.words())
    if said:
        yield f"Said of the job at ingest: {visible(said)}."
    yield from map(visible, findings.job.instead_of(findings.job_at_ingest))


def _pace(findings: Findings) -> Iterator[str]:
    """Say how much the job does in a second, if its user says how much it does in a step."""
    done, steps = findings.job.of_a_step, findings.steps
    if steps.empty or not done:
        return
    ranks = steps.groupby("rank").agg(
        start_ns=("start_ns", "min"), end_ns=("window_end_ns", "max"), count=("number", "size")
    )
    mean_ns = float(((ranks["end_ns"] - ranks["start_ns"]) / ranks["count"]).max())
    if mean_ns > 0:
        rates = " and ".join(f"{format_rate(amount / mean_ns * _NS_PER_S)} {word}" for amount, word in done)
        over = plural(steps["number"].nunique(), "step")
        yield f"Now it does {rates} a second, over {over} of {format_ns(round(mean_ns))} in the mean."


SECTION = Section(0, _title, _content, lambda scope: {"traces": scope.whole}, group=ANSWER)
