"""The integrity codes as Markdown: `python -m tracegraph.ingest.integrity.codes_page > docs/integrity.md`."""

from collections.abc import Iterator
from dataclasses import fields

from tracegraph.ingest.limits import (
    MEMORY_OF_A_BYTE,
    MEMORY_OF_AN_ENTRY,
    MOST_EVENTS,
    MOST_UNPACKED,
    Limits,
)
from tracegraph.vocabulary.integrity_codes import CODES

_LEVELS = {
    "error": "time or events are lost, so that numbers may be wrong",
    "warning": "something was repaired, left out or contradicts itself; look at its share",
    "info": "good to know; the numbers stand",
}
_LIMITS = {
    "unpacked": "bytes of text after unpacking; KiB, MiB and GiB may follow the number",
    "events": "entries of the list",
    "entry": "bytes of one entry; a longer one is skipped and counted as `event_broken`",
    "threads": "threads and streams with events",
    "text": "characters of one text; a longer one is cut and counted as `text_truncated`",
}


_OF_THE_MEMORY = {
    "unpacked": f"memory / {MEMORY_OF_A_BYTE}, at most {MOST_UNPACKED:,}",
    "events": f"memory / {MEMORY_OF_AN_ENTRY:,} bytes, at most {MOST_EVENTS:,}",
}


def integrity_table() -> str:
    """Write levels, codes and limits as one Markdown document."""
    return "\n".join([*_codes(), *_limits()]) + "\n"


def _codes() -> Iterator[str]:
    yield "# What a trace is checked for"
    yield ""
    yield "This file is generated: `python -m tracegraph.ingest.integrity.codes_page > docs/integrity.md`."
    yield "`tracegraph doctor FILE` prints the findings of a file; every report begins with them. Each has a"
    yield "code, a level, a count, the place of the first case and, where it is known, the share of time."
    for level, meaning in _LEVELS.items():
        yield f"\n## {level}\n\n{meaning[0].upper()}{meaning[1:]}.\n"
        yield "| code | what it means | what to do |"
        yield "|---|---|---|"
        for name, code in CODES.items():
            if code.level == level:
                yield f"| `{name}` | {code.meaning} | {code.advice} |"


def _limits() -> Iterator[str]:
    yield "\n## Limits\n"
    yield "A file beyond a limit ends in one line, before it can fill the machine. `--limit NAME=N` raises"
    yield "one, on `report`, `ingest`, `convert` and `doctor`. The memory is what the process may use: the"
    yield "machine's, or less where its container (cgroup) has a limit. A real trace takes 5.6 bytes of it a"
    yield "byte of text, 2.1 kB an entry, until its run is stored.\n"
    yield "| limit | default | of what |"
    yield "|---|---|---|"
    for field in fields(Limits):
        default = _OF_THE_MEMORY.get(field.name) or f"{field.default:,}"
        yield f"| `{field.name}` | {default} | {_LIMITS[field.name]} |"
    yield "\nA gzip file that unpacks to over 1 GB and to over 100 times its size is refused, whatever the"
    yield "limit: real traces unpack to 13 to 30 times theirs. `gunzip` it first if it is one."
    yield "\nAn entry may be nested as deep as Python's decoder goes, about a thousand levels; a deeper one"
    yield "is skipped and counted as `event_broken`. A pipe that nobody writes to for ten seconds is refused."


if __name__ == "__main__":
    print(integrity_table(), end="")
