"""What a companion is: a kind of file that is not a trace but says something about a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import pyarrow as pa

Row = Mapping[str, object]
Reader = Callable[[str, Sequence[str]], pa.Table]


@dataclass(frozen=True)
class CompanionFile:
    """A file with its content unpacked; `sha256` is that of the file as stored."""

    path: str
    sha256: str
    data: bytes

    @cached_property
    def text(self) -> str:
        """The content as text; bytes that are no UTF-8 become replacement characters."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Told:
    """What the files of one kind say.

    Attributes
    ----------
    rows
        By label of the schema: properties of each node, without `run`; a property may be left out.
    words
        What the files hold, for people: counts by what is counted.
    beside
        Makes more rows, by label, of what the files say beside the run that they are given with; it gets what
        reads columns of the run's nodes by their label, without rows where there are none.
    """

    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    words: Mapping[str, object] = field(default_factory=dict)
    beside: Callable[[Reader], Mapping[str, Sequence[Row]]] | None = None


class Companion(Protocol):
    """A kind of companion: a module with one, and its name in `registry.COMPANIONS`."""

    @property
    def name(self) -> str:
        """The name of the kind, which its nodes carry as `companion`."""

    def sniff(self, file: CompanionFile) -> bool:
        """Tell whether a file is of this kind; a file may be of several, as a log with tests in it."""

    def read(self, files: Sequence[CompanionFile]) -> Told:
        """Read all files of the kind together: one job may have written several, one for each process."""
