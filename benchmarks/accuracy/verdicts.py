"""Verdicts on real files, jobs, public reports and examples, as a report begins with them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy.files import kineto_files
from benchmarks.accuracy.markdown import table
from tracegraph.base.errors import TracegraphError
from tracegraph.vocabulary.bounds import LEAST_GAIN
from tracegraph.workbench import Workbench
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.recommendations import recommend
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.text.text import format_ns, format_share

REASONS = Path(__file__).with_name("verdict_reasons.json")
"""Why verdicts changed, by input."""
JOBS = (
    "a1_megatron*/*.json*",
    "a2_megatron*/*.json*",
    "a3_torchrec*/*.json*",
    "torch_cpu/ddp_gloo*",
    "c07_*/rank*.json",
    "c22_*/accelerate/*.json",
    "c22_*/sgl/*.json",
)
"""Patterns of the files that are the ranks of one job."""
_FIXES, _RESOURCES = 3, 3
"""How many fixes and resources are listed."""
_FOLDERS = re.compile(r"\S*/")
"""The folders in a path, which are those of the machine that wrote the document."""


@dataclass(frozen=True)
class Input:
    """The subject of one report: a file, or a pattern of the files of a job."""

    name: str
    trace: Path


@dataclass(frozen=True)
class Said:
    """What a report says first of an input; if it is refused, `sentences` holds the refusal.

    `bounds` has the resources whose time is worth most, `fixes` the first three fixes with their gains.
    """

    name: str
    bottleneck: str
    sentences: Sequence[str]
    advice: str
    bounds: str = ""
    fixes: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The verdict as one text."""
        return " ".join(self.sentences)


def chosen_inputs(examples: Path, folders: Sequence[Path]) -> list[Input]:
    """List all examples, and of each folder the jobs in it and every other Kineto file."""
    found = [Input(path.name, path) for path in sorted(examples.glob("*.json.gz"))]
    for folder in folders:
        jobs = {pattern: files for pattern in JOBS if (files := sorted(folder.glob(pattern)))}
        of_jobs = {path for files in jobs.values() for path in files}
        alone = [path for path in kineto_files(folder) if path not in of_jobs]
        found += [Input(_name(folder, files), folder / pattern) for pattern, files in jobs.items()]
        found += [Input(path.relative_to(folder).as_posix(), path) for path in alone]
    return found


def _name(folder: Path, files: Sequence[Path]) -> str:
    first = files[0].relative_to(folder).as_posix()
    return f"{first} and {len(files) - 1} more"


def say_first(inputs: Sequence[Input], workspace: Path) -> Iterator[Said]:
    """Yield the verdict and the first recommendation of each input, one run after the other."""
    with Workbench.open(workspace=workspace, progress=False) as bench:
        for one in inputs:
            try:
                findings = bench.ingest(one.trace, load="bolt").report(drawn=False).findings
            except TracegraphError as error:
                yield Said(one.name, "refused", [_FOLDERS.sub("", str(error))], "")
                continue
            verdict, advised = judge(findings), recommend(findings)
            first = "".join(f"{advice.title}: {advice.number}" for advice in advised[:1]) or "none"
            fixes = [f"{row['title']} ({_gain(row)})" for one in advised[:_FIXES] if (row := one.fix)]
            yield Said(one.name, verdict.bottleneck, verdict.sentences, first, _bounds(findings), fixes)


def _bounds(findings: Findings) -> str:
    resources = findings.bounds.get("resources", [])[:_RESOURCES]
    told = [
        f"{row['resource']} {format_share(row['share'])}" for row in resources if row["share"] >= LEAST_GAIN
    ]
    return ", ".join(told) or "none"


def _gain(row: Mapping[str, Any]) -> str:
    return f"{row['selector']}: {format_ns(row['gain_ns'])} of {format_ns(row['base_ns'])}"


def save(said: Sequence[Said], file: Path) -> None:
    """Keep what was said, for a comparison with a later state of the project."""
    file.write_text(json.dumps([asdict(one) for one in said], indent=1, ensure_ascii=False) + "\n")


def saved(file: Path) -> list[Said]:
    """Read what `save` kept."""
    return [Said(**one) for one in json.loads(file.read_text())]


def describe_verdicts(said: Sequence[Said]) -> str:
    """Write the Markdown: a table of verdicts and first recommendations, and one of bounds and fixes."""
    columns = ["file", "bottleneck", "verdict", "first recommendation"]
    verdicts = table(columns, [[one.name, one.bottleneck, one.text, one.advice] for one in said])
    read = [one for one in said if one.bounds]
    rows = [[one.name, one.bounds, *(list(one.fixes) + [""] * _FIXES)[:_FIXES]] for one in read]
    fixes = table(["file", "gains most where it takes no time", "first fix", "second", "third"], rows)
    return f"{verdicts}\n\n{fixes}"


def describe_changes(before: Sequence[Said], after: Sequence[Said], reasons: Mapping[str, str]) -> str:
    """Write the Markdown: how many verdicts changed, and a row for each of them, with the reason."""
    earlier = {one.name: one for one in before}
    changed = [
        [one.name, *(f"{each.bottleneck}: {each.text}" for each in (earlier[one.name], one))]
        for one in after
        if one.name in earlier and one.text != earlier[one.name].text
    ]
    rows = [[*row, reasons.get(row[0], "")] for row in changed]
    counted = f"{len(changed)} of {len(after)} verdicts changed."
    return f"{counted}\n\n{table(['file', 'before', 'after', 'why'], rows)}" if rows else counted
