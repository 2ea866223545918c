"""Files behind a URL, through fsspec: how one is opened, and what is said of one that cannot be read.

Files of web servers are read front to back, with limits on waiting and errors that name the answer.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import fsspec

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.ingest.sources.source import WEB, Url

CONNECT_S, STALL_S = 10.0, 60.0
"""Seconds that a web server may take to accept a connection, and then may be silent at a time."""
_OF_RIGHTS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED)
_ABSENT = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
# Statuses from here on are the server's own fault (5xx), so that a later try may succeed.
_ITS_FAULT = 500
_DRIVERS = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "adl": "adlfs",
    "hf": "huggingface_hub",
    "http": "aiohttp",
    "https": "aiohttp",
    "sftp": "paramiko",
    "ssh": "paramiko",
}
"""The package of the driver for usual protocols; for others fsspec's own error names it."""
_LONGEST_REASON = 200
"""Characters of a driver's error that a message shows."""


def open_remote(url: Url) -> tuple[Any, str]:
    """Open the file system of a URL, and return it with the path there.

    Raises
    ------
    InputError
        If no driver knows the protocol, if it is not installed, or if it refuses the URL.
    """
    try:
        system, path = fsspec.core.url_to_fs(url.text, **_web_options(url))
    except ImportError as error:
        package = _DRIVERS.get(url.protocol)
        hint = f"pip install {package}" if package else str(error).rstrip(".")
        raise InputError(f"the driver for {url.protocol}:// is not installed", hint) from None
    except Exception as error:  # a driver may raise anything
        if url.protocol in fsspec.available_protocols():
            raise refusal(url, error) from None
        listed = "fsspec opens s3://, gs://, https:// and many more"
        hint = did_you_mean(url.protocol, fsspec.available_protocols(), listed)
        raise InputError(f"no driver knows {url.protocol}://", hint) from None
    return system, str(path)


def _web_options(url: Url) -> Mapping[str, Mapping[str, object]]:
    """Return the options for fsspec's web drivers, by protocol; nothing if a URL names neither.

    ImportError if they are not installed.
    """
    named = [name for name in WEB if re.search(rf"(^|::){name}://", url.text, re.IGNORECASE)]
    if not named:
        return {}
    from aiohttp import ClientTimeout  # noqa: PLC0415 (not there for those who read files only)

    limits = ClientTimeout(total=None, connect=CONNECT_S, sock_read=STALL_S)
    return {name: {"client_kwargs": {"timeout": limits}} for name in named}


def open_stream(system: Any, url: Url, path: str) -> Any:
    """Open a remote file to read from the front; from the web in one answer, which every server can give.

    By default fsspec asks for pieces, which a server may refuse, and before that for the size; any refusal of
    that counts as an absent file.
    """
    if not url.is_web or url.is_chain:
        return system.open(path, "rb")
    return system.open(path, "rb", block_size=0, size=1)


def other_host(stream: Any, url: Url) -> str | None:
    """Find the address to which a server redirected, if it is another server's or not encrypted."""
    answer = getattr(stream, "r", None)
    if answer is None or not answer.history:
        return None
    asked, given = urlsplit(url.text), urlsplit(str(answer.url))
    same = asked.hostname == given.hostname and (asked.scheme, given.scheme) != ("https", "http")
    return None if same else Url(str(answer.url)).shown


def refusal(url: Url, error: BaseException) -> InputError:
    """Make the error for a URL that cannot be read: its driver's message on one line, without secrets."""
    if isinstance(error, InputError):
        return error
    refused = _refused_by_server(url, error)
    if refused is not None:
        return refused
    if isinstance(error, FileNotFoundError):
        return InputError(
            f"{url.shown} does not exist", "check the spelling of the URL, and that its server can be reached"
        )
    said = " ".join(str(error).replace(url.text, url.shown).split()) or type(error).__name__
    return InputError(
        f"{url.shown} cannot be read: {said[:_LONGEST_REASON]}",
        "check the URL, the network and your credentials",
    )


def _refused_by_server(url: Url, error: BaseException) -> InputError | None:
    """Make the error for a web server's answer, or for the lack of one; None for all other errors."""
    for one in _causes(error):
        if "timeout" in type(one).__name__.lower() and url.is_web and not url.is_chain:
            late = "onnection" in str(one)
            what = f"took no call for {CONNECT_S:g} s" if late else f"sent nothing for {STALL_S:g} s"
            return InputError(f"{url.shown} cannot be read: its server {what}", "run the command again later")
        status = getattr(one, "status", None)
        if isinstance(status, int) and hasattr(one, "request_info"):
            return _refused(url, one)
    if isinstance(error, FileNotFoundError) and error.__cause__ is None and url.is_web:
        said = _worded(HTTPStatus.NOT_FOUND)
        return InputError(
            f"{url.shown} does not exist: its server answers {said}", "check the spelling of the URL"
        )
    return None


def _worded(status: int) -> str:
    known = status in HTTPStatus.__members__.values()
    return f"{status} {HTTPStatus(status).phrase}" if known else str(status)


def _refused(url: Url, error: Any) -> InputError:
    turns: Sequence[Any] = error.history or ()
    status = error.status or turns[-1].status
    said = _worded(status)
    host = urlsplit(str(error.request_info.real_url)).hostname
    who = "its server" if host == urlsplit(url.text).hostname else f"{host}, where its server sends to,"
    if status < 400:
        return InputError(
            f"{url.shown} cannot be read: {who} sends on and on, {len(turns)} times ({said})",
            "open it in a browser, and give the address of the file itself",
        )
    if status in _ABSENT:
        return InputError(
            f"{url.shown} does not exist: {who} answers {said}", "check the spelling of the URL"
        )
    hint = (
        "check your right to it, or give a URL with access in it, such as a signed one"
        if status in _OF_RIGHTS
        else "run the command again later"
        if status >= _ITS_FAULT or status == HTTPStatus.TOO_MANY_REQUESTS
        else "check the URL"
    )
    return InputError(f"{url.shown} cannot be read: {who} answers {said}", hint)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
