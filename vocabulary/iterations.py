"""Iterations of a server by the names of its annotations: prefill, decode or both, and their size.

The known names are those of SGLang (`step[EXTEND bs=4 toks=4096]`), vLLM
(`execute_context_1(512)_generation_8(8)`, `execute_new_1_cached_8`), TensorRT-LLM
(`_forward_step 7: 1 ctx reqs, 512 ctx tkns, 8 gen reqs`) and others that say what they do, and for how many
requests or tokens (`decode[bs=64]`, `prefill batch_size=2`).
"""

import re
from dataclasses import dataclass

PREFILL, DECODE, MIXED, IDLE = "prefill", "decode", "mixed", "idle"
ITERATION = "serving iteration"
"""The one name under which all iterations are counted, as all ProfilerSteps are under theirs."""
_WORDS = {
    **dict.fromkeys(("extend", "prefill", "context", "ctx", "prompt"), PREFILL),
    **dict.fromkeys(("decode", "decoding", "generation", "generate", "gen", "verify", "draft"), DECODE),
    "mixed": MIXED,
    "idle": IDLE,
}
_VLLM = re.compile(r"execute_context_(\d{1,9})\(([^()]*)\)_generation_(\d{1,9})\(([^()]*)\)", re.ASCII)
_VLLM_OLD = re.compile(r"execute_new_(\d{1,9})_cached_(\d{1,9})", re.ASCII)
_TRT = re.compile(
    r".*?(\d{1,9}) ctx req\w*\W+(?:(\d{1,9}) ctx (?:tkn|tok)\w*\W+)?(\d{1,9}) gen req\w*.*",
    re.ASCII | re.IGNORECASE,
)
_STEP = re.compile(r"(?:step|iter|iteration|forward|batch)\[(\w+)\b.*\]", re.IGNORECASE)
_PART = re.compile(r"[A-Za-z]+", re.ASCII)
_BATCH = re.compile(
    r"(?<![A-Za-z])(?:bs|batch(?:[_ ]?size)?|(?:num[_ ])?(?:reqs?|requests|seqs|sequences))"
    r"\s*[=:]\s*(\d{1,9})",
    re.ASCII | re.IGNORECASE,
)
_TOKENS = re.compile(
    r"(?<![A-Za-z])(?:(?:num[_ ])?(?:toks?|tkns?|tokens))\s*[=:]\s*(\d{1,12})", re.ASCII | re.IGNORECASE
)
_LEADING = re.compile(r"\s*(?:sq\s*=?\s*)?(\d{1,12})", re.ASCII)


@dataclass(frozen=True)
class Iteration:
    """One iteration: `type` is prefill, decode, mixed or idle.

    `batch` is the number of requests and `tokens` that of new tokens; None if unknown.
    """

    type: str
    batch: int | None
    tokens: int | None


def iteration_in(name: str) -> Iteration | None:
    """Find the iteration that an annotation marks by its name; None if it does not mark one."""
    if found := _VLLM.fullmatch(name):
        tokens = [_leading(found[2]), _leading(found[4])]
        known = [one for one in tokens if one is not None]
        return _of_requests(int(found[1]), int(found[3]), sum(known) if len(known) == len(tokens) else None)
    if found := _VLLM_OLD.fullmatch(name):
        return _of_requests(int(found[1]), int(found[2]), None)
    if found := _TRT.fullmatch(name):
        return _of_requests(
            int(found[1]), int(found[3]), None if found[2] is None else int(found[2]) + int(found[3])
        )
    return _of_words(name)


def _of_requests(new: int, running: int, tokens: int | None) -> Iteration:
    kind = MIXED if new and running else PREFILL if new else DECODE if running else IDLE
    return Iteration(kind, new + running, tokens)


def _of_words(name: str) -> Iteration | None:
    kinds = [kind for part in _PART.findall(name) if (kind := _WORDS.get(part.lower())) is not None]
    if not kinds:
        return None
    batch, tokens = (None if (one := key.search(name)) is None else int(one[1]) for key in (_BATCH, _TOKENS))
    if batch is None and tokens is None and not _STEP.fullmatch(name):
        return None
    return Iteration(kinds[0], batch, tokens)


def _leading(text: str) -> int | None:
    found = _LEADING.match(text)
    return None if found is None else int(found[1])
