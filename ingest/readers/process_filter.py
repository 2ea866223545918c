"""The entries of some processes of a document."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec
from msgspec import Struct

from tracegraph.ingest.readers.chrome_text import Batch, ChromeDocument, RawEntry
from tracegraph.vocabulary.step_names import marked_by


class _Process(Struct, gc=False):
    pid: int | float | str | None = None


_decode = msgspec.json.Decoder(_Process).decode


def keep_processes(document: ChromeDocument, processes: Sequence[str]) -> ChromeDocument:
    """The document with the entries whose pid is one of `processes`; `*` and `?` in these are wildcards."""
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
