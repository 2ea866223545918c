"""Reads demangled C++ names of kernels, as PyTorch's profiler writes them, into their parts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

_MOST_CHARS, _MOST_DEPTH = 20_000, 24
"""A longer or deeper name is not read, which bounds time and recursion for hostile text."""
_TOKEN = re.compile(r"\boperator ?(?:\(\)|\[\]|<=>|<<=?|>>=?|->\*?|[<>]=?)|->|::|[<>(){}\[\], ]")
_CLOSED_BY = {"<": ">", "(": ")", "{": "}", "[": "]"}
_CLOSING = frozenset(_CLOSED_BY.values())
_CLONE = re.compile(r"(?: ?\[clone [^\[\]]*\]| \(\.\w+\)|\.kd)+$")
_ANONYMOUS = ("(anonymous namespace)", "anonymous-namespace", "{unnamed")
_LAMBDA = ("{lambda", "'lambda", "$_")
_IDENTIFIER = re.compile(r"~?[^\W\d]\w*(?:::)?\Z|operator\b.*\Z", re.DOTALL)
_BUILTIN = re.compile(
    r"(?:(?:un)?signed|char|short|int|long|float|double|bool|void|half|__half|_Float16|__nv_bfloat16|hip_bfloat16"
    r"|u?int\d+_t|size_t| )+"
)
_NUMBER = re.compile(r"(?:\w+::)*(Half|BFloat16|half_t|bfloat16_t|Float8_\w+|float_e\dm\d\w*)")
"""Number types that libraries define: they say as much as a builtin."""
_VALUE = re.compile(r"true|false|nullptr")
_TYPED = re.compile(r"[*&]|\b(?:unsigned|char|int|long|float|double|bool|void)\b")
_WRAPPER = re.compile(r"gpu_\w*kernel\w*|func_wrapper_t|ReduceOp|BinaryFunctor|[AB]UnaryFunctor|CppNode")
"""Templates of PyTorch that only carry what another template argument does."""


class _UnreadableError(ValueError):
    """The text is not a balanced C++ name."""


@dataclass(frozen=True)
class Part:
    """A function, type or value of a name; parts with the same `exact` text are equal.

    Parts that are otherwise the same differ in `wrappers`, the text of what carries them; in `numbers`, which
    lambda of its function it is, outermost first; or in `scope`, what their name is in. `kind`: `class`, also
    for functions; `builtin` for types of the language; `value` for all the rest.
    """

    exact: str
    name: str = field(compare=False)
    kind: str = field(default="value", compare=False)
    args: "tuple[Part, ...]" = field(default=(), compare=False)
    params: "tuple[Part, ...]" = field(default=(), compare=False)
    wrappers: tuple[str, ...] = field(default=(), compare=False)
    numbers: str = field(default="", compare=False)
    scope: tuple[str, ...] = field(default=(), compare=False)
    suffix: str = field(default="", compare=False)
    is_lambda: bool = field(default=False, compare=False)


def parse_function(name: str) -> Part | None:
    """Read a demangled function with its template arguments; None if the text is not one or is damaged."""
    if len(name) > _MOST_CHARS or name.startswith(("_Z", "<")):
        return None
    text = _CLONE.sub("", name)
    if not text.endswith((")", ">", "}", ") const")):
        return None
    try:
        text = text.replace(") const::", ")::").removesuffix(" const")
        # A space within the name: operator< <int>.
        spaces = [start for start, token, end in _tokens(text) if token == " " and text[end] != "<"]
        path = text[spaces[-1] + 1 :] if spaces else text
        part = _qualified(path, name)
        if text.removesuffix(path).endswith(": "):
            return None
    except _UnreadableError:
        return None
    return part if part.kind == "class" and _is_cpp(text, path, part) else None


def _is_cpp(text: str, path: str, part: Part) -> bool:
    """Tell whether the name is more than a user's annotation that has brackets, such as `batch(3)`."""
    if path.endswith(">"):
        return "::" in path
    return (
        "::" in path
        or bool(part.args)
        or text.startswith("void ")
        or bool(_TYPED.search(path))
        or any(param.args for param in part.params)
    )


def _tokens(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield start, token and end of the separators outside brackets; brackets as one token, by the first."""
    expected: list[str] = []
    opened = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _CLOSED_BY:
            opened = opened if expected else match.start()
            expected.append(_CLOSED_BY[token])
            if len(expected) > _MOST_DEPTH:
                raise _UnreadableError(text)
        elif token in _CLOSING:
            if not expected or expected.pop() != token:
                raise _UnreadableError(text)
            if not expected:
                yield opened, text[opened], match.end()
        elif not expected:
            yield match.start(), token, match.end()
    if expected:
        raise _UnreadableError(text)


def _split(text: str, separator: str) -> list[str]:
    pieces, begun = [], 0
    for start, token, end in _tokens(text):
        if token == separator:
            pieces.append(text[begun:start])
            begun = end
    return [*pieces, text[begun:]]


def _list(text: str) -> tuple[Part, ...]:
    """Return the parts between commas; `text` has its brackets."""
    inner = text[1:-1].strip()
    return tuple(_part(piece.strip()) for piece in _split(inner, ",")) if inner else ()


def _part(text: str) -> Part:
    """Read an argument or parameter; what is not a readable type is a value, unchanged."""
    bare = text.rstrip("*& ")
    while bare.endswith((" const", " volatile")):
        bare = bare.rpartition(" ")[0].rstrip("*& ")
    suffix = text[len(bare) :]
    if _BUILTIN.fullmatch(bare):
        return Part(text, bare, "builtin", suffix=suffix)
    if number := _NUMBER.fullmatch(bare):
        return Part(text, number[1], "builtin", suffix=suffix)
    if _VALUE.fullmatch(bare):
        return Part(text, text)
    if bare.startswith("(") and not bare.startswith("(anonymous"):
        return Part(text, bare[bare.rfind(")") + 1 :] or text)
    part = _qualified(bare.removeprefix("&"), text)
    if part.kind == "value":
        return Part(text, text)
    return replace(part, suffix=suffix)


def _qualified(path: str, exact: str) -> Part:
    """Return the last name of a path between `::`; a lambda belongs to the function that holds it."""
    pieces = _split(path, "::")
    hidden = next((at for at, piece in enumerate(pieces) if piece.startswith(_LAMBDA)), len(pieces))
    named = [piece for piece in pieces[:hidden] if piece and not piece.startswith(_ANONYMOUS)]
    if hidden < len(pieces):
        while len(named) > 1 and named[-1].startswith("operator"):
            named.pop()
    if not named:
        return Part(exact, exact)
    name, args, params = _component(named.pop())
    if not _IDENTIFIER.match(name):
        return Part(exact, exact)
    if not args and named and named[-1].endswith(">"):
        owner, args, _ = _component(named.pop())
        name = f"{owner}::{name}"
    part = Part(exact, name, "class", args, params, scope=tuple(named))
    if hidden < len(pieces):
        numbers = "".join(re.findall(r"#\d+", "".join(pieces[hidden:])))
        part = replace(part, params=_of_lambda(pieces[-1]), numbers=numbers, is_lambda=True)
    return _unwrapped(part)


def _component(text: str) -> tuple[str, tuple[Part, ...], tuple[Part, ...]]:
    """Return name, template arguments and parameters of `name<…>(…)`."""
    groups = [(start, token, end) for start, token, end in _tokens(text) if token in _CLOSED_BY]
    name = text[: groups[0][0]] if groups else text
    lists = {token: text[start:end] for start, token, end in groups}
    return name.strip(), _list(lists.get("<", "<>")), _list(lists.get("(", "()"))


def _of_lambda(text: str) -> tuple[Part, ...]:
    """Return the parameters of `{lambda(…)#1}` or, as LLVM writes it, of `'lambda'(…)`."""
    inner = re.sub(r"#\d+$", "", text.strip("{}"))
    _, opened, params = inner.partition("(")
    return _list(opened + params) if params.endswith(")") else ()


def _unwrapped(part: Part) -> Part:
    """Return what a wrapper carries, under the wrapper's text."""
    carried = next((arg for arg in part.args if arg.kind == "class"), None)
    if carried is None or not _WRAPPER.fullmatch(part.name):
        return part
    types = [f"{arg.name}, " for arg in part.args if arg.kind == "builtin"]
    wrapper = f"{part.name}<{''.join(types[:1])}"
    return replace(carried, exact=part.exact, wrappers=(wrapper, *carried.wrappers))
