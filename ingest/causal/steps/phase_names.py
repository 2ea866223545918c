"""Which phase an annotation names: PyTorch's own, and those that libraries and users write."""

import re

from tracegraph.vocabulary.phases import BACKWARD, DATA_LOADING, FORWARD, OPTIMIZER, ZERO_GRAD

_FRAMING = re.compile(r"^[\s#\[(]+|[\s#\])]+$")
_WORDS = re.compile(r"[^a-z0-9]+")
_OWN = (
    (re.compile(r"Optimizer\.step#"), OPTIMIZER),
    (re.compile(r"Optimizer\.zero_grad#"), ZERO_GRAD),
    (re.compile(r"enumerate\(DataLoader\)#"), DATA_LOADING),
)
"""The annotations that PyTorch writes by itself; in old files they are operators."""
_BOTH = re.compile(r"(?:forward|fwd).*(?:backward|bwd)|(?:backward|bwd).*(?:forward|fwd)")
"""Names of forward and backward at once name neither phase."""
_HOOK = re.compile(r"(?:FSDP::|FullyShardedDataParallel\.)_?(?:root_)?(?:pre|post)_(forward|backward)")
"""Annotations of FSDP around what it does before and after a module of a pass."""
_ROOT = "FSDP::root_pre_forward"
"""That with which the forward pass of a whole model begins."""
_AROUND = re.compile(r"(?:^| )(?:pre|post) (?:forward|fwd|backward|bwd)(?: |$)")
"""What is done before or after a module, or a pass, is not the pass."""
_LAST = r"(?:^| )(?:{})(?: (?:pass|step|compute))?$"
"""A pattern for the last words of a name."""
_WRITTEN = (
    (re.compile(_LAST.format("zero grad|zero gradients|optimizer zero grad")), ZERO_GRAD),
    (re.compile(_LAST.format("backward|bwd|loss backward")), BACKWARD),
    (re.compile(_LAST.format("forward|fwd|training step")), FORWARD),
    (
        re.compile(_LAST.format("optimizer|optim|optimizer step|optim step|opt step|step optimizer")),
        OPTIMIZER,
    ),
    (
        re.compile(
            _LAST.format(
                "data ?load(?:ing|er)?|load data|load batch|get batch|next batch|fetch batch|next data iter|"
                "train dataloader next|dataloader iter"
            )
        ),
        DATA_LOADING,
    ),
)
"""The last words, in small letters, of an annotation that names a phase: `## forward ##`, `MyModel.forward`,
`[Strategy]DDPStrategy.backward` (Lightning), `forward_step` (Megatron), `[param|alex_net|forward]`."""


def phase_of(name: str, *, is_annotation: bool) -> str | None:
    """Find the phase that an annotation names, None if it names none, or forward and backward at once.

    An operator names a phase only by PyTorch's own names, since old files have annotations as operators.
    """
    for pattern, phase in _OWN:
        if pattern.match(name):
            return phase
    if not is_annotation or len(name) > _LONGEST:
        return None
    words = _WORDS.sub(" ", _FRAMING.sub("", name).lower()).strip()
    if _BOTH.search(words) or _AROUND.search(words):
        return None
    return next((phase for pattern, phase in _WRITTEN if pattern.search(words)), None)


def hook_of(name: str) -> str | None:
    """Find the phase in which FSDP runs a hook, by the annotation around it; None for other annotations."""
    found = _HOOK.match(name)
    return found[1] if found else None


def begins_pass(name: str) -> bool:
    """Tell whether a hook is the first of a pass of the whole model."""
    return name == _ROOT


_LONGEST = 300
"""The most characters of a name that is searched for a phase: no name of a phase is longer. It bounds the
time for names that hold a whole text."""
