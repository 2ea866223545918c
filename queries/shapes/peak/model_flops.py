"""FLOPs of a model's forward pass for a token: by the number of its parameters, or layer by layer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracegraph.base.errors import InputError

PASSES = 3
"""A training step costs this many forward passes: backward computes gradients of inputs and of weights."""
_SPELLINGS = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers"),
    "heads": ("num_attention_heads", "n_head"),
    "kv_heads": ("num_key_value_heads",),
    "head": ("head_dim",),
    "inner": ("intermediate_size", "n_inner", "ffn_dim"),
    "words": ("vocab_size",),
    "experts": ("num_local_experts",),
    "active": ("num_experts_per_tok",),
}
"""How the config.json of a family may call each number."""
_MATRICES = {
    **dict.fromkeys(("gpt2", "gptj", "gpt_neox", "opt", "bloom"), 2),
    **dict.fromkeys(("llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "phi3"), 3),
}
"""Families whose layers are known, and how many matrices a feed-forward part of theirs has: 3 with a gate."""
_FAMILY = "model_type"
_WANTED = "name the config.json of the model"


@dataclass(frozen=True)
class Model:
    """A transformer as its config.json states it: sizes, and the matrices of a feed-forward part."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    words: int
    matrices: int
    experts: int = 1
    active: int = 1

    def token_flops(self, sequence: int | None) -> int:
        """FLOPs of a forward pass for one token of a sequence of this length, layer by layer.

        Without a length those of attention scores are left out. Scores count in full, also where a mask hides
        half of them, as is usual for shares of a peak.
        """
        projections = self.hidden * self.head * (2 * self.heads + 2 * self.kv_heads)
        inner = self.matrices * self.hidden * self.inner * self.active
        router = self.hidden * self.experts if self.experts > 1 else 0
        layer = 2 * (projections + inner + router) + self.score_flops(sequence)
        return self.layers * layer + 2 * self.hidden * self.words

    def score_flops(self, sequence: int | None) -> int:
        """FLOPs of the attention scores of one layer for one token, forward; 0 without a length."""
        return 4 * (sequence or 0) * self.heads * self.head


def read_model(text: str) -> Model:
    """Read a config.json as Hugging Face's models have it.

    Raises
    ------
    InputError
        It is no JSON object, it is of a family whose layers are not known here, or a size is missing.
    """
    try:
        stated = json.loads(text)
    except ValueError as error:
        raise InputError(f"the model's config is no JSON: {error}", _WANTED) from None
    family = stated.get(_FAMILY) if isinstance(stated, dict) else None
    if family not in _MATRICES:
        raise InputError(
            f"the layers of a model of the type {family!r} are not known",
            f"give the number of its parameters; known are: {', '.join(sorted(_MATRICES))}",
        )
    sizes = {name: _size(stated, spellings) for name, spellings in _SPELLINGS.items()}
    needed = [name for name in ("hidden", "layers", "heads", "words") if sizes[name] is None]
    if needed:
        missing = _SPELLINGS[needed[0]][0]
        raise InputError(f"the model's config does not state {missing}", "give the number of its parameters")
    hidden, heads = sizes["hidden"] or 0, sizes["heads"] or 1
    return Model(
        hidden=hidden,
        layers=sizes["layers"] or 0,
        heads=heads,
        kv_heads=sizes["kv_heads"] or heads,
        head=sizes["head"] or hidden // heads,
        inner=sizes["inner"] or 4 * hidden,
        words=sizes["words"] or 0,
        matrices=_MATRICES[family],
        experts=sizes["experts"] or 1,
        active=sizes["active"] or 1,
    )


def _size(stated: Mapping[str, Any], spellings: tuple[str, ...]) -> int | None:
    found = next((stated[name] for name in spellings if stated.get(name) is not None), None)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool) or found <= 0:
        raise InputError(f"the model's config states a size of {found!r}", _WANTED)
    return found
