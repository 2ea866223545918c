"""The critical path: its length, how it tiles the window, and how well it is known."""

from collections.abc import Iterator, Sequence

from tracegraph.vocabulary.gaps import OUTSIDE_RECORDING, UNTRACED_CPU
from tracegraph.workbench.findings.findings import NEAR_TIE_NS, Findings
from tracegraph.workbench.findings.gpu_use import COMPUTING, gpu_shares, gpu_use
from tracegraph.workbench.sections.blocks import Block, Fact, Facts
from tracegraph.workbench.sections.section import PATH, Section
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
    named = max(0.0, 1 - findings.explained_share - findings.unknown_share - untraced - lost)
    gaps = _listed(
        (findings.unknown_share, "unknown"),
        (untraced, UNTRACED_CPU),
        (lost, "of work that is not in the file"),
        (named, "in gaps with a reason"),
    )
    yield Fact("gaps", gaps, figure=(format_share(named), "in gaps with a reason"))
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


def _listed(*parts: tuple[float, str]) -> str:
    """List shares with what they are of, without those that are nothing."""
    return ", ".join(f"{format_share(share)} {what}" for share, what in parts if share) or "none"


def _unclear(findings: Findings) -> str:
    if not findings.unclear_share:
        return "nothing unknown or untraced"
    parts = _listed(
        (findings.unknown_share, "unknown gaps"),
        (findings.untraced_cpu_share, UNTRACED_CPU),
        (findings.untraced_share, "untraced Python (self time of annotations, counted as explained)"),
    )
    return f"{format_share(findings.unclear_share)} unknown or untraced: {parts}"


def _evidence(findings: Findings) -> str:
    said = f"{format_share(findings.inferred_share)} starts by inferred dependencies"
    if not findings.inferred_share:
        said = "no stretch starts by an inferred dependency"
    if not findings.near_ties:
        return said
    ties = plural(findings.near_ties, "near-tie")
    hangs = f"{format_share(findings.near_tie_share)} hangs on {ties}"
    return f"{said}; {hangs} (a second cause at most {format_ns(NEAR_TIE_NS)} before)"


SECTION = Section(
    30,
    "Critical path",
    _content,
    lambda scope: {"gpu_busy": scope.between},
    group=PATH,
)
