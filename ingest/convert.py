"""A trace in another format, without loss: order, keys, number literals and unknown fields stay."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from msgspec import Struct

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, PACKED, Limits
from tracegraph.ingest.readers.chrome_text import Batch, ChromeDocument, RawEntry, lossy
from tracegraph.ingest.readers.registry import FORMATS, format_of
from tracegraph.ingest.readers.source_file import open_source
from tracegraph.ingest.readers.trace_format import Split, TraceFormat, Write
from tracegraph.ingest.readers.unpacking import pack_into
from tracegraph.vocabulary.step_names import marked_by

# The levels of igzip go from 0, the fastest, to 3, which packs best.
_GZIP_LEVEL = 2


class _Process(Struct, gc=False):
    pid: int | float | str | None = None


_decode = msgspec.json.Decoder(_Process).decode


def keep_processes(document: ChromeDocument, processes: Sequence[str]) -> ChromeDocument:
    """Keep the entries whose pid is one of `processes`, in which `*` and `?` are wildcards."""
    patterns = [marked_by(one) for one in processes]

    def is_meant(text: RawEntry) -> bool:
        try:
            pid = _decode(text).pid
        except msgspec.MsgspecError:
            return False
        return any(pattern.fullmatch("" if pid is None else str(pid)) for pattern in patterns)

    def batches() -> Iterator[Batch]:
        for batch in document.batches:
            kept = [k for k, text in enumerate(batch.texts) if is_meant(text)]
            yield Batch([batch.texts[k] for k in kept], [batch.positions[k] for k in kept])

    return replace(document, batches=batches())


@dataclass(frozen=True)
class Converted:
    """What a conversion wrote: the file, and how many events and bytes it holds."""

    path: Path
    events: int
    bytes: int


def convert_trace(
    source: Path,
    target: Path,
    replace: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    processes: Sequence[str] = (),
) -> Converted:
    """Write `source` in the format that the suffix of `target` names: a trace in JSON as Parquet, or back.

    The target appears as a whole or not at all.

    Parameters
    ----------
    replace
        Overwrite a target that exists.
    processes
        Write only the entries that have one of these pids (`*` and `?` are wildcards); the target may then
        have the format of the source.

    Raises
    ------
    InputError
        If the target exists and `replace` is false, if its name does not fit, or if the source is damaged,
        since then nothing could be kept without loss.
    """
    integrity = Integrity(str(source), limits)
    opened = open_source(source, integrity)
    split, write = _find_way(format_of(opened), source, target, same=bool(processes))
    _check_target(source, target, replace)
    for finding in integrity:
        if finding.level == "error":
            raise lossy(source, finding.message)
    with _new_file(target) as temporary:
        document = split(opened)
        if processes:
            document = keep_processes(document, processes)
        with (
            temporary.open("wb") as raw,
            pack_into(raw, _GZIP_LEVEL) if target.name.endswith(PACKED) else nullcontext(raw) as file,
        ):
            events = write(document, file)
        if processes and not events:
            shown = ", ".join(processes)
            raise InputError(
                f"{source} has no entry of a process {shown}", "give the pids as they are written"
            )
    return Converted(target, events, target.stat().st_size)


def _find_way(origin: TraceFormat, source: Path, target: Path, *, same: bool = False) -> tuple[Split, Write]:
    """Find how to take the source apart and put the target together; `same` allows one format for both."""
    if origin.split is None:
        raise InputError(f"{source} is {origin.name}, which cannot be converted", "report on it as it is")
    others = [form for form in FORMATS if same or form is not origin]
    writers = [(form.suffixes, form.write) for form in others if form.write is not None]
    for suffixes, write in writers:
        if target.name.endswith(suffixes):
            return origin.split, write
    usual = writers[0][0][0]
    raise InputError(f"{source} cannot be converted to {target}", f"name the output {target.stem}{usual}")


def _check_target(source: Path, target: Path, replace: bool) -> None:
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is no folder", "create it, or choose another")
    if os.path.exists(target) and not replace:
        raise InputError(f"{target} exists already", "choose another name, or replace it with --force")
    if os.path.exists(target) and target.samefile(source):
        raise InputError(f"{target} is the input itself", "choose another name")
    if target.is_dir():
        raise InputError(f"{target} is a directory", "choose the name of a file")


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target` that becomes `target` once everything is written."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written: {error.strerror or error}", "check the folder"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
