"""One thing to read: a file, or a URL that fsspec opens."""

import os
import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(://|::)")
_LOCAL = re.compile(r"(?:file|local)://", re.IGNORECASE)
_WEB = ("http", "https")


@dataclass(frozen=True)
class Source:
    """A path, or a URL. `rank`: its rank if the user states it, else None, and the file states it itself."""

    given: str
    rank: int | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return is_url(self.given)

    @property
    def located(self) -> "Source":
        """The same source with its full path, for a process elsewhere or later."""
        return self if self.is_remote else replace(self, given=os.path.abspath(self.given))

    @property
    def shown(self) -> str:
        """The source as it may be shown and stored: a URL without user, password and web query."""
        return shown_url(self.given) if self.is_remote else self.given

    @property
    def name(self) -> str:
        """Its name without the folders around it."""
        return self.shown.rstrip("/").rsplit("/", 1)[-1]


AnySource = Source | str | os.PathLike[str]


def as_source(given: AnySource) -> Source:
    """Make the source that a path or URL names; `file://` is a path."""
    return given if isinstance(given, Source) else Source(local_path(os.fspath(given)))


def is_url(text: str) -> bool:
    """Tell whether a text is a URL for fsspec, such as `s3://…` or `zip://…::https://…`.

    The name of a file that exists is a path.
    """
    return _URL.match(text) is not None and not os.path.exists(text)


def local_path(text: str) -> str:
    """Convert `file:///x` to `/x`, and keep anything else."""
    return text[match.end() :] if (match := _LOCAL.match(text)) else text


def protocol(url: str) -> str:
    """Find the word before `://`, in small letters; empty if there is none."""
    match = _URL.match(url)
    return match[1].lower() if match else ""


def shown_url(url: str) -> str:
    """Remove from a URL what gives access: user and password, and the query of a web address."""
    plain = re.sub(r"(://)[^/@]*@", r"\1", url)
    return plain.split("?", 1)[0] if urlsplit(url).scheme in _WEB else plain
