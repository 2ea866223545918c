"""Every format that can be read: a new one is a module with a `TraceFormat`, and its name here."""

from tracegraph.ingest.limits import PACKED
from tracegraph.ingest.readers.foreign_files import refuse_foreign, refuse_protobuf
from tracegraph.ingest.readers.foreign_json import refuse_foreign_head
from tracegraph.ingest.readers.kineto.json_file import KINETO_JSON
from tracegraph.ingest.readers.kineto.parquet_file import KINETO_PARQUET
from tracegraph.ingest.readers.nsight.database_file import NSIGHT
from tracegraph.ingest.readers.operations.operation_log import OPERATIONS
from tracegraph.ingest.readers.rocprof.json_file import ROCPROF
from tracegraph.ingest.readers.rpd.rpd_file import RPD
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.readers.sqlite_file import refuse_database
from tracegraph.ingest.readers.trace_format import TraceFormat

FORMATS: tuple[TraceFormat, ...] = (OPERATIONS, KINETO_PARQUET, NSIGHT, RPD, ROCPROF, KINETO_JSON)
"""The formats in the order in which they are asked.

The last one reads what no format knows, and says what is wrong with it.
"""


def format_of(source: SourceFile) -> TraceFormat:
    """Find the format of a file by its content; InputError for content that is known not to be a trace."""
    refuse_protobuf(source.path, source.head)
    for form in FORMATS:
        if form.is_of(source):
            if form is KINETO_JSON:
                refuse_foreign_head(source.path, source.head)
            return form
    refuse_database(source)
    refuse_foreign(source.path, source.head)
    return FORMATS[-1]


def trace_stem(file_name: str) -> str:
    """Cut the suffix of its format from a file's name."""
    suffixes = sorted((suffix for form in FORMATS for suffix in form.suffixes), key=len, reverse=True)
    return file_name.removesuffix(next(filter(file_name.endswith, suffixes), PACKED))
