"""One thing to read: a file, or a URL that fsspec opens."""

import os
import re
from dataclasses import dataclass, field, replace

WEB = ("http", "https")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(://|::)")
_LOCAL = re.compile(r"(?:file|local)://", re.IGNORECASE)
_ACCESS = re.compile(r"(://)[^/@]*@")
_QUERY = re.compile(r"(\bhttps?://[^?]*)\?.*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Url:
    """A URL for fsspec, such as `s3://…` or `zip://…::https://…`.

    Its text may hold what gives access to the file, so that people and stored runs see only `shown`.
    """

    text: str = field(repr=False)

    @property
    def protocol(self) -> str:
        """The word before `://`, in small letters; empty if there is none."""
        match = _URL.match(self.text)
        return match[1].lower() if match else ""

    @property
    def is_web(self) -> bool:
        """Whether it is a web address, http or https."""
        return self.protocol in WEB

    @property
    def is_chain(self) -> bool:
        """Whether `::` joins several URLs in it: that of a file in an archive, and the archive's own."""
        return "::" in self.text

    @property
    def shown(self) -> str:
        """The URL without user and password, and without the query of a web address, which ends it."""
        return _QUERY.sub(r"\1", _ACCESS.sub(r"\1", self.text))

    def __str__(self) -> str:
        return self.shown


@dataclass(frozen=True)
class Source:
    """A path, or a URL. `rank`: its rank if the user states it, else None, and the file states it itself.

    `of_parts`: the ranks that the user states of parts of a file of several, by the name of each.
    """

    given: str
    rank: int | None = None
    of_parts: tuple[tuple[str, int], ...] = ()

    @property
    def url(self) -> Url | None:
        """The URL that it is; None for a path, such as the name of a file that exists."""
        return Url(self.given) if _URL.match(self.given) and not os.path.exists(self.given) else None

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return self.url is not None

    @property
    def located(self) -> "Source":
        """The same source with its full path, for a process elsewhere or later."""
        return self if self.is_remote else replace(self, given=os.path.abspath(self.given))

    @property
    def shown(self) -> str:
        """The source as it may be shown and stored: a URL without user, password and web query."""
        url = self.url
        return self.given if url is None else url.shown

    @property
    def name(self) -> str:
        """Its name without the folders around it."""
        return self.shown.rstrip("/").rsplit("/", 1)[-1]


AnySource = Source | str | os.PathLike[str]


def as_source(given: AnySource) -> Source:
    """Make the source that a path or URL names; `file://` is a path."""
    if isinstance(given, Source):
        return given
    text = os.fspath(given)
    return Source(text[match.end() :] if (match := _LOCAL.match(text)) else text)
