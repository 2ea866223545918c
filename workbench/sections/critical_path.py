"""The critical path: its length, how it tiles the window, and how well it is known."""

from collections.abc import Iterator, Sequence

from tracegraph.vocabulary.gaps import OUTSIDE_RECORDING, UNTRACED_CPU
from tracegraph.workbench.findings.findings import NEAR_TIE_NS, Findings
from tracegraph.workbench.findings.gpu_use import COMPUTING, gpu_shares, gpu_use
from tracegraph.workbench.sections.blocks import Block, Fact, Facts
from tracegraph.workbench.sections.section import Section
from tracegraph.workbench.text.text import format_ns, format_share, plural


def _content(findings: Findings) -> Sequence[Block]:
    return [Facts(tuple(_facts(findings)))]


def _facts(findings: Findings) -> Iterator[Fact]:
    stretches = plural(len(findings.path), "stretch", "stretches")
    length = format_ns(findings.length_ns)
    yield Fact("length", f"{length} in {stretches}", figure=(length, f"critical path, {stretches}"))
    yield _tiling(findings)
    explained = format_share(findings.explained_share)
    yield Fact("explained", f"{explained} by events", figure=(explained, "explained by events"))
    unclear = format_share(findings.unclear_share)
    yield Fact("unclear", _unclear(findings), figure=(unclear, "unclear: unknown or untraced"))
    untraced = findings.untraced_cpu_share
    lost = sum(share for name, share in findings.unrecorded.items() if name != OUTSIDE_RECORDING)
    named = format_share(max(0.0, 1 - findings.explained_share - findings.unknown_share - untraced - lost))
    gaps = (
        f"{format_share(findings.unknown_share)} unknown, {format_share(untraced)} {UNTRACED_CPU}, "
        + (f"{format_share(lost)} of work that is not in the file, " if lost else "")
        + f"{named} in gaps with a reason"
    )
    yield Fact("gaps", gaps, figure=(named, "in gaps with a reason"))
    inferred = format_share(findings.inferred_share)
    yield Fact("evidence", _evidence(findings), figure=(inferred, "starts by inferred dependencies"))
    shares = gpu_shares(findings)
    if shares is not None:
        computing = format_share(shares[COMPUTING])
        yield Fact("GPU", gpu_use(findings), figure=(computing, "GPU computing in the window"))


def _tiling(findings: Findings) -> Fact:
    if findings.untiled_ns:
        wrong = f"does NOT tile the window: {format_ns(findings.untiled_ns)} left out or twice"
        return Fact("tiling", wrong, "error")
    return Fact("tiling", "tiles the window: every ns is in exactly one stretch", "good")


def _unclear(findings: Findings) -> str:
    return (
        f"{format_share(findings.unclear_share)} unknown or untraced: {format_share(findings.unknown_share)} "
        f"unknown gaps, {format_share(findings.untraced_cpu_share)} {UNTRACED_CPU} and "
        f"{format_share(findings.untraced_share)} untraced Python (self time of annotations, counted as "
        "explained)"
    )


def _evidence(findings: Findings) -> str:
    ties = plural(findings.near_ties, "near-tie")
    return (
        f"{format_share(findings.inferred_share)} starts by inferred dependencies; "
        f"{format_share(findings.near_tie_share)} hangs on {ties} (a second cause at most "
        f"{format_ns(NEAR_TIE_NS)} before)"
    )


SECTION = Section(30, "Critical path", _content, lambda scope: {"gpu_busy": scope.between})
