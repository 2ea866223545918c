"""The verdicts on real files, jobs, public reports and examples, as a report begins with them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.accuracy.files import kineto_files
from benchmarks.accuracy.markdown import table
from tracegraph.store.errors import TracegraphError
from tracegraph.workbench import Workbench
from tracegraph.workbench.report.recommendations import recommend
from tracegraph.workbench.report.verdict import judge

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
"""Which files of the folders are the ranks of one job."""
_FOLDERS = re.compile(r"\S*/")
"""Of a path the folders, which are of the machine that wrote the document."""


@dataclass(frozen=True)
class Input:
    """What one report is about: a file, or a pattern of the files of a job."""

    name: str
    trace: Path


@dataclass(frozen=True)
class Said:
    """What a report says first of an input; of a refused one `sentences` holds the refusal."""

    name: str
    bottleneck: str
    sentences: Sequence[str]
    advice: str

    @property
    def text(self) -> str:
        """The verdict as one text."""
        return " ".join(self.sentences)


def chosen_inputs(examples: Path, folders: Sequence[Path]) -> list[Input]:
    """All examples; of each folder the jobs in it, and every other Kineto file."""
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
    """The verdict and the first recommendation of each input, one run after the other."""
    with Workbench.open(workspace=workspace, progress=False) as bench:
        for one in inputs:
            try:
                findings = bench.ingest(one.trace, load="bolt").report(drawn=False).findings
            except TracegraphError as error:
                yield Said(one.name, "refused", [_FOLDERS.sub("", str(error))], "")
                continue
            verdict = judge(findings)
            advised = [f"{advice.title}: {advice.number}" for advice in recommend(findings)[:1]]
            yield Said(one.name, verdict.bottleneck, verdict.sentences, "".join(advised) or "none")


def save(said: Sequence[Said], file: Path) -> None:
    """Keep what was said, to be compared with a later state of the project."""
    file.write_text(json.dumps([asdict(one) for one in said], indent=1, ensure_ascii=False) + "\n")


def saved(file: Path) -> list[Said]:
    """What `save` kept."""
    return [Said(**one) for one in json.loads(file.read_text())]


def describe_verdicts(said: Sequence[Said]) -> str:
    """Markdown: a row an input."""
    columns = ["file", "bottleneck", "verdict", "first recommendation"]
    return table(columns, [[one.name, one.bottleneck, one.text, one.advice] for one in said])


def describe_changes(before: Sequence[Said], after: Sequence[Said], reasons: Mapping[str, str]) -> str:
    """Markdown: how many verdicts changed, and a row for each that did, with the reason."""
    earlier = {one.name: one for one in before}
    changed = [
        [one.name, *(f"{each.bottleneck}: {each.text}" for each in (earlier[one.name], one))]
        for one in after
        if one.name in earlier and one.text != earlier[one.name].text
    ]
    rows = [[*row, reasons.get(row[0], "")] for row in changed]
    counted = f"{len(changed)} of {len(after)} verdicts changed."
    return f"{counted}\n\n{table(['file', 'before', 'after', 'why'], rows)}" if rows else counted
