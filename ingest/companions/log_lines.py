"""Lines of NCCL in a text, and the rest of the text without them."""

import re
from dataclasses import dataclass

_PREFIX = re.compile(
    r"(?P<host>[\w.\-]+):(?P<pid>\d+):(?P<tid>\d+) (?:\[-?\d+\] )?(?:[^\n]{0,64} )?NCCL (?:INFO|WARN|TRACE) "
)


@dataclass(frozen=True)
class Line:
    """What one thread of a process logged: `host`, `process` and `thread` by their numbers, and the text."""

    host: str
    process: tuple[str, str]
    thread: tuple[str, str, str]
    text: str


def split_log(text: str) -> tuple[list[Line], str]:
    """Split a text into the lines that NCCL logged and the rest.

    A line of NCCL may stand behind other text, as behind a row of its tests that is not finished yet: the
    rest then goes on with the next line. Names of hosts that are glued to such text are told by the lines
    that begin with them.
    """
    raw = text.splitlines()
    hosts = {match["host"] for line in raw if (match := _PREFIX.match(line))}
    lines, rest = [], []
    for line in raw:
        found = list(_PREFIX.finditer(line))
        if not found:
            rest.append(line + "\n")
            continue
        for place, match in enumerate(found):
            host = _known(match["host"], hosts)
            if place == 0 and (before := line[: match.end("host") - len(host)]).strip():
                rest.append(before)
            until = found[place + 1].start() if place + 1 < len(found) else len(line)
            process = (host, match["pid"])
            lines.append(Line(host, process, (*process, match["tid"]), line[match.end() : until].strip()))
    return lines, "".join(rest)


def _known(host: str, hosts: set[str]) -> str:
    """Cut what stands before the name of a known host; the longest such name counts."""
    if host in hosts:
        return host
    ends = [one for one in hosts if host.endswith(one)]
    return max(ends, key=len, default=host)
