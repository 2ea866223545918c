"""What no verdict may say against the numbers of its own report."""

import re

from tracegraph.vocabulary.bounds import BOTTLENECKS
from tracegraph.vocabulary.categories import GPU_WORK, has_role
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.gpu_use import gpu_shares
from tracegraph.workbench.findings.recommendations import recommend
from tracegraph.workbench.findings.verdict import judge

_BUSY, _LITTLE = 0.9, 0.25


def check_verdict(findings: Findings) -> None:
    """Fail where the verdict, its gains or the recommendations contradict the findings."""
    verdict, codes = judge(findings), {one.code for one in recommend(findings)}
    assert 0 <= verdict.share <= 1 + 1e-9
    for row in verdict.gains:
        assert 0 < row["gain_ns"] <= row["base_ns"]
    if verdict.bottleneck == "gpu":
        parts = re.findall(r"([\d.]+) % inside", verdict.sentences[0])
        assert all(float(part) <= 100 * verdict.share + 0.1 for part in parts), verdict.sentences
    busy, gained = _gpu_works(findings), _largest_gains(findings)
    if busy > _BUSY and gained is not None and gained < _LITTLE:
        assert verdict.bottleneck != "cpu", verdict.sentences
        assert "cpu-bound" not in codes
        if "cannot be told" in verdict.sentences[0]:
            assert all(
                has_role(row["category"], *GPU_WORK) or row["category"] == "gap" for row in verdict.gains
            )
    if "cpu-or-gpu" in codes:
        assert verdict.bottleneck == "unknown", verdict.sentences
    _check_first(findings)
    shares = gpu_shares(findings)
    assert shares is None or abs(sum(shares.values()) - 1) < 1e-9


def _check_first(findings: Findings) -> None:
    """The first fix is the verdict's and the first that is advised; what bounds the run gains most."""
    verdict, advised = judge(findings), recommend(findings)
    fixes = [one for one in advised if one.fix]
    assert [one.fix["gain_ns"] for one in fixes] == sorted(
        (one.fix["gain_ns"] for one in fixes), reverse=True
    )
    assert advised[: len(fixes)] == fixes
    if verdict.gains and findings.fixes:
        assert verdict.gains[0]["gain_ns"] == fixes[0].fix["gain_ns"] == findings.fixes[0]["gain_ns"]
        assert fixes[0].fix["evidence"] in verdict.sentences[1]
        assert fixes[0].fix["evidence"] in fixes[0].number
    if not verdict.gains:
        assert not fixes
    resources = findings.bounds.get("resources", [])
    if resources and verdict.bottleneck != "unknown" and verdict.share:
        most = max(row["gain_ns"] for row in resources)
        named = [row for row in resources if BOTTLENECKS[row["resource"]] in verdict.bottlenecks]
        assert max(row["gain_ns"] for row in named) * 1.5 > most
        assert verdict.share == max(row["share"] for row in named)
        assert (verdict.bottleneck == "several") == (len(verdict.bottlenecks) > 1)
    gains = [text for text in verdict.sentences if "would gain" in text or "it gains" in text]
    assert len(gains) <= 1


def _gpu_works(findings: Findings) -> float:
    if findings.gpu.empty:
        return 0.0
    works = findings.gpu["busy_ns"] - findings.gpu["waiting_ns"]
    return float(works.max()) / max(1, findings.end_ns - findings.start_ns)


def _largest_gains(findings: Findings) -> float | None:
    """What a replay without the CPU's longest own work gains, as a part of that; None: not known."""
    rows = findings.path[findings.path["category"].ne("gap")].astype({"name": str, "category": str})
    rows = rows[~rows["category"].map(lambda category: has_role(category, *GPU_WORK)).astype(bool)]
    spent = (rows["end_ns"] - rows["start_ns"]).groupby([rows["name"], rows["category"]]).sum()
    if spent.empty:
        return None
    longest = spent[spent.eq(spent.max())].index
    told = [
        row["gain_ns"] / row[held]
        for listed, held in (
            (findings.details.what_next, "duration_ns"),
            (findings.details.potential, "path_ns"),
        )
        for row in listed
        if (row["name"], row["category"]) in longest
    ]
    return max(told, default=None)
