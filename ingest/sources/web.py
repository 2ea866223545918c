"""Files of web servers: read front to back, with limits on waiting and errors that name the answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from tracegraph.base.errors import InputError
from tracegraph.ingest.sources.source import protocol, shown_url

WEB = ("http", "https")
CONNECT_S, STALL_S = 10.0, 60.0
"""Seconds that a server may take to accept a connection, and then may be silent at a time."""
_OF_RIGHTS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)
_ABSENT = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
# Statuses from here on are the server's own fault (5xx), so that a later try may succeed.
_ITS_FAULT = 500


def web_options(url: str) -> Mapping[str, Mapping[str, object]]:
    """Return the options for fsspec's web drivers, by protocol; nothing if a URL names neither.

    ImportError if they are not installed.
    """
    named = [name for name in WEB if re.search(rf"(^|::){name}://", url, re.IGNORECASE)]
    if not named:
        return {}
    from aiohttp import ClientTimeout  # noqa: PLC0415 (not there for those who read files only)

    limits = ClientTimeout(total=None, connect=CONNECT_S, sock_read=STALL_S)
    return {name: {"client_kwargs": {"timeout": limits}} for name in named}


def open_stream(system: Any, url: str, path: str) -> Any:
    """Open a remote file to read from the front; from the web in one answer, which every server can give.

    By default fsspec asks for pieces, which a server may refuse, and before that for the size; any refusal of
    that counts as an absent file.
    """
    if protocol(url) not in WEB or "::" in url:
        return system.open(path, "rb")
    return system.open(path, "rb", block_size=0, size=1)


def other_host(stream: Any, url: str) -> str | None:
    """Find the address to which a server redirected, if it is another server's or not encrypted."""
    answer = getattr(stream, "r", None)
    if answer is None or not answer.history:
        return None
    asked, given = urlsplit(url), urlsplit(str(answer.url))
    same = asked.hostname == given.hostname and (asked.scheme, given.scheme) != ("https", "http")
    return None if same else shown_url(str(answer.url))


def refused_by_server(url: str, error: BaseException) -> InputError | None:
    """Make the error for a web server's answer, or for the lack of one; None for all other errors."""
    shown = shown_url(url)
    for one in _causes(error):
        if "timeout" in type(one).__name__.lower() and "::" not in url and protocol(url) in WEB:
            late = "onnection" in str(one)
            what = f"took no call for {CONNECT_S:g} s" if late else f"sent nothing for {STALL_S:g} s"
            return InputError(f"{shown} cannot be read: its server {what}", "run the command again later")
        status = getattr(one, "status", None)
        if isinstance(status, int) and hasattr(one, "request_info"):
            return _refused(shown, url, one)
    if isinstance(error, FileNotFoundError) and error.__cause__ is None and protocol(url) in WEB:
        said = _worded(HTTPStatus.NOT_FOUND)
        return InputError(
            f"{shown} does not exist: its server answers {said}", "check the spelling of the URL"
        )
    return None


def _worded(status: int) -> str:
    known = status in HTTPStatus.__members__.values()
    return f"{status} {HTTPStatus(status).phrase}" if known else str(status)


def _refused(shown: str, url: str, error: Any) -> InputError:
    turns: Sequence[Any] = error.history or ()
    status = error.status or turns[-1].status
    said = _worded(status)
    host = urlsplit(str(error.request_info.real_url)).hostname
    who = "its server" if host == urlsplit(url).hostname else f"{host}, where its server sends to,"
    if status < 400:
        return InputError(
            f"{shown} cannot be read: {who} sends on and on, {len(turns)} times ({said})",
            "open it in a browser, and give the address of the file itself",
        )
    if status in _ABSENT:
        return InputError(f"{shown} does not exist: {who} answers {said}", "check the spelling of the URL")
    hint = (
        "check your right to it, or give a URL with access in it, such as a signed one"
        if status in _OF_RIGHTS
        else "run the command again later"
        if status >= _ITS_FAULT or status == HTTPStatus.TOO_MANY_REQUESTS
        else "check the URL"
    )
    return InputError(f"{shown} cannot be read: {who} answers {said}", hint)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
