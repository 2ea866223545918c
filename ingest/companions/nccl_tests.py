"""Output of NCCL's tests: how long an operation takes for each size (github.com/NVIDIA/nccl-tests)."""

import re
from collections.abc import Iterator, Sequence

from tracegraph.ingest.companions.companion import CompanionFile, Row, Told
from tracegraph.ingest.companions.log_lines import split_log
from tracegraph.ingest.microseconds import literal_to_ns
from tracegraph.vocabulary import collectives
from tracegraph.vocabulary.collectives import stated_kind

_HEADER = re.compile(r"^#\s+size\s+count\s+type\b.*$", re.MULTILINE)
_TEST = re.compile(r"(?:Collective test starting: |\b)(\w+)_perf\b")
_RANK = re.compile(r"^#\s+Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\b", re.MULTILINE)
_COMMENT = re.compile(r"^#.*$", re.MULTILINE)
_TIMES = ("out_of_place", "in_place")


class _Tests:
    """Reads the tables of the tests; each file is a run of one test."""

    name = collectives.NCCL_TESTS

    def sniff(self, file: CompanionFile) -> bool:
        """Look for the header of a table."""
        return b"busbw" in file.data and _HEADER.search(file.text) is not None

    def read(self, files: Sequence[CompanionFile]) -> Told:
        """Read the rows of all files; each is measured twice, out of place and in place."""
        rows = [row for file in files for row in _rows(file)]
        sizes = {row["bytes"] for row in rows}
        kinds = sorted({str(row["kind"]) for row in rows})
        return Told({"Transfer": rows}, {"measured kinds": kinds, "sizes": len(sizes), "times": len(rows)})


NCCL_TESTS = _Tests()


def _rows(file: CompanionFile) -> Iterator[Row]:
    _, text = split_log(file.text)
    header = _HEADER.search(text)
    kind = _kind(text, file.path)
    if header is None or kind is None:
        return
    named = header[0].lstrip("# ").split()
    members = dict(_RANK.findall(text))
    same = {
        "source": collectives.NCCL_TESTS,
        "kind": kind,
        "ranks": len(members) or None,
        "nodes": len(set(members.values())) or None,
    }
    pattern = re.compile(r"\b(\d+)\s+(\d+)\s+([a-z]\w*)\s+" + r"\s+".join([r"(\S+)"] * (len(named) - 3)))
    times = [place for place, name in enumerate(named) if name == "time"]
    for match in pattern.finditer(_COMMENT.sub("", text[header.end() :])):
        cells = match.groups()
        for how, place in zip(_TIMES, times, strict=False):
            if (took := literal_to_ns(cells[place])) is not None:
                yield {**same, "bytes": int(cells[0]), "time_ns": took, "in_place": how == _TIMES[1]}


def _kind(text: str, path: str) -> str | None:
    """Find which operation was tested: the text says it, else the name of the file may."""
    for said in (text, path):
        for match in _TEST.finditer(said):
            if (kind := stated_kind(match[1])) is not None:
                return kind
    return None
