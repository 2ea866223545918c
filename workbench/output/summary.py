"""summary.json: the numbers of a report for scripts."""

import json
from dataclasses import asdict

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import worth
from tracegraph.workbench.findings.gpu_use import gpu_shares
from tracegraph.workbench.findings.recommendations import Recommendation, recommend
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.sections.section import all_sections
from tracegraph.workbench.sections.shown_names import with_labels

_NS_PER_S = 1_000_000_000
_DIGITS = 12
"""How many digits of a fraction are written."""


def records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Turn the rows into objects that JSON can hold: whole numbers stay exact, what is missing is None."""
    found: list[dict[str, object]] = json.loads(frame.to_json(orient="records", double_precision=_DIGITS))
    return found


def summary_head(findings: Findings) -> dict[str, object]:
    """Return what summary.json begins with: the answer, and how far it can be trusted."""
    details = findings.details
    return {
        "run": details.name,
        "window_ns": [findings.start_ns, findings.end_ns],
        "duration_ns": findings.length_ns,
        "step": findings.part.step,
        "phase": findings.part.phase,
        "occurrence": findings.part.occurrence,
        "ranks": details.ranks,
        "verdict": _verdict(findings),
        "fixes": [dict(row) for row in findings.fixes],
        "bounds": dict(findings.bounds),
        **_stragglers(findings),
        "recommendations": [_advised(one) for one in recommend(findings)],
        "integrity": [dict(row) for row in details.integrity],
        "critical_path": {
            "length_ns": int(findings.durations.sum()),
            "stretches": len(findings.path),
            "explained_share": findings.explained_share,
            "unknown_share": findings.unknown_share,
            "untraced_share": findings.untraced_share,
            "untraced_cpu_share": findings.untraced_cpu_share,
            "unclear_share": findings.unclear_share,
            "inferred_share": findings.inferred_share,
            "near_tie_share": findings.near_tie_share,
            "near_ties": findings.near_ties,
            "by_category_ns": dict(findings.by_category_ns),
            "by_dependency_ns": findings.by_dependency_ns,
            "by_gap_ns": findings.by_gap_ns,
        },
    }


def summarise(findings: Findings) -> dict[str, object]:
    """Return the content of summary.json; keys may be added, never renamed. Times in ns, shares 0..1."""
    details = findings.details
    return {
        **summary_head(findings),
        "events": details.events,
        "nodes": details.nodes,
        "nodes_by_label": dict(details.nodes_by_label),
        "relationships": dict(details.relationships),
        "timings_s": dict(details.timings_s),
        "versions": dict(details.versions),
        "gpu_busy_share": findings.gpu_busy_share,
        "gpu_shares": gpu_shares(findings),
        "cross_thread": details.cross_thread,
        "alternatives": [dict(row) for row in findings.alternatives],
        "what_next": [dict(row) for row in findings.what_next],
        "potential": [dict(row) for row in findings.potential],
        "waits": findings.waits.to_dict("records"),
        "steps": None if findings.step_summary is None else asdict(findings.step_summary),
        "sections": {
            name: [records(with_labels(frame)) for frame in section.tables(findings)]
            for name, section in all_sections().items()
            if not section.page_only
        },
    }


def _verdict(findings: Findings) -> dict[str, object]:
    verdict = judge(findings)
    gains = [
        {name: row[name] for name in ("selector", "name", "gain_ns", "low_ns", "high_ns")}
        | worth(findings, row)
        for row in verdict.gains
    ]
    return {
        "bottleneck": verdict.bottleneck,
        "bottlenecks": list(verdict.bottlenecks),
        "share": verdict.share,
        "sentences": list(verdict.sentences),
        "gains": gains,
    }


def _stragglers(findings: Findings) -> dict[str, object]:
    """Return the measures of stragglers under their published names, of a log of operations only."""
    told = findings.stragglers
    if not told:
        return {}
    by = {
        f"by_{level}": {row["group"]: row["slowdown"] for row in told["rows"] if row["level"] == level}
        for level in ("optype", "dp_rank", "stage", "worker")
    }
    seconds = {"T_s": "recorded_ns", "T0_s": "without_delays_ns", "T1_s": "ideal_ns"}
    return {
        "stragglers": {
            "S": told["slowdown"],
            **by,
            "M_W": told["worst_workers"],
            "M_S": told["last_stage"],
            **{name: told[key] / _NS_PER_S for name, key in seconds.items()},
        }
    }


def _advised(one: Recommendation) -> dict[str, object]:
    return {
        "rule": one.code,
        "title": one.title,
        "number": one.number,
        "share": one.share,
        "threshold": one.threshold,
        "advice": one.advice,
        "gain_ns": one.fix["gain_ns"] if one.fix else None,
        "command": one.fix["command"] if one.fix else None,
    }


def summary_text(findings: Findings) -> str:
    """Return summary.json as text."""
    return as_text(summarise(findings))


def as_text(numbers: dict[str, object]) -> str:
    """Write numbers as the text of a JSON file."""
    return json.dumps(numbers, indent=2, ensure_ascii=False) + "\n"
