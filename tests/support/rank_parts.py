"""The part of a file of one rank."""

from tracegraph.ingest.options import DEFAULT_OPTIONS, IngestOptions
from tracegraph.ingest.ranks.rank_part import Part, read_all_parts
from tracegraph.ingest.sources.source import AnySource, as_source


def read_part(file: AnySource, options: IngestOptions = DEFAULT_OPTIONS) -> Part:
    """Read a file of one rank as a worker does."""
    (part,) = read_all_parts(as_source(file), options)
    return part
