"""What to try next: fixes, and the rules that reached their thresholds."""

from collections.abc import Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.recommendations import recommend
from tracegraph.workbench.findings.topics import COMMUNICATION, KERNEL_TYPE, TOPICS
from tracegraph.workbench.findings.untraced_time import LEAST_NS, MOST
from tracegraph.workbench.sections.blocks import Advice, Block, Words
from tracegraph.workbench.sections.section import ADVICE, Parameters, Scope, Section


def _content(findings: Findings) -> Sequence[Block]:
    found = recommend(findings)
    return [Advice(found)] if found else [Words("none: no rule reached its threshold")]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    beginnings = [beginning for of_topic in TOPICS.values() for beginning in of_topic]
    return {
        "events_about": {
            **scope.between,
            "beginnings": "\n".join(beginnings),
            "kernel_type": KERNEL_TYPE[COMMUNICATION],
        },
        "outliers": scope.between,
        "path_silences": {**scope.walked, "least_ns": LEAST_NS, "limit": MOST},
    }


SECTION = Section(4, "Recommendations", _content, _asks, group=ADVICE)
