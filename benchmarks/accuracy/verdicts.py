"""The verdicts on real files and examples, as a report begins with them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.markdown import table
from tracegraph.workbench import Workbench
from tracegraph.workbench.report.recommendations import recommend
from tracegraph.workbench.report.verdict import judge

FILES = (
    "a2_megatron_tp2_v100_2rank/rank1*",
    "c1_*",
    "h1_*",
    "i1_*",
    "e1_*",
    "e3_*",
    "d1_*",
    "torch_cpu/gpt_100k*",
    "torch_cpu/resnet18_slow_loader*",
    "torch_cpu/two_threads_gil*",
    "torch_cpu/whatif_cpu_*",
)
"""Which of the real files."""


@dataclass(frozen=True)
class Said:
    """What a report says first of a file."""

    file: str
    bottleneck: str
    sentences: Sequence[str]
    advice: str


def chosen_files(traces: Path, examples: Path) -> list[Path]:
    """All examples, and those of the real files."""
    found = sorted(examples.glob("*.json.gz"))
    return found + [path for pattern in FILES for path in sorted(traces.glob(f"{pattern}.json*"))]


def say_first(files: Sequence[Path], workspace: Path) -> Iterator[Said]:
    """The verdict and the first recommendation of each file, one run after the other."""
    with Workbench.open(workspace=workspace, progress=False) as bench:
        for file in files:
            findings = bench.ingest(file, load="bolt").report(drawn=False).findings
            verdict = judge(findings)
            advised = [f"{one.title}: {one.number}" for one in recommend(findings)[:1]]
            yield Said(file.name, verdict.bottleneck, verdict.sentences, "".join(advised) or "none")


def describe_verdicts(said: Sequence[Said]) -> str:
    """Markdown: a row a file."""
    columns = ["file", "bottleneck", "verdict", "first recommendation"]
    rows = [[one.file, one.bottleneck, " ".join(one.sentences), one.advice] for one in said]
    return table(columns, rows)
