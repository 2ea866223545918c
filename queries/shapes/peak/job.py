"""The job as its user states it: what no trace says, and what shares of a peak need."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tracegraph.base.errors import InputError
from tracegraph.queries.module import Parameter

JOB_PARAMETERS = (
    Parameter(
        "gpus", "INTEGER", "GPUs of the job; null: one for each rank of the run", (1, 10**9), None, True
    ),
    Parameter("batch", "INTEGER", "samples of a step on all GPUs; null: unknown", (1, 10**15), None, True),
    Parameter("tokens", "INTEGER", "tokens of a step on all GPUs; null: unknown", (1, 10**15), None, True),
    Parameter(
        "params", "INTEGER", "parameters of the model, of experts the active ones", (1, 10**18), None, True
    ),
    Parameter("model", "STRING", "path of the model's config.json, or its text", None, None, True),
    Parameter("peak", "FLOAT", "peak of a GPU, TFLOP/s; null: that of its data sheet", None, None, True),
    Parameter("device", "STRING", "name of the GPUs; null: that in the file", None, None, True),
)
"""The parameters of queries that take what a user says of the job."""
LINK_PARAMETER = Parameter(
    "link", "STRING", "GB/s of a GPU in one direction, or a link's name", None, None, True
)
STATED_PARAMETERS = (*JOB_PARAMETERS, LINK_PARAMETER)
"""All that a run stores of what its user said, by the names of the attributes of a job."""


@dataclass(frozen=True)
class Job:
    """What a user says of the job; None is not said.

    Attributes
    ----------
    gpus
        GPUs that run it.
    batch, tokens
        Samples and tokens of a step on all of them.
    params
        Parameters of the model; of a mixture of experts those that a token uses.
    model
        The model's config.json: its path, or its text.
    peak
        Peak of one GPU in TFLOP/s, for the element type in which the job computes.
    device
        Name of the GPUs, where the file does not state it or states another one.
    link
        What carries communication: GB/s of a GPU in one direction, or the name of a known link.
    """

    gpus: int | None = None
    batch: int | None = None
    tokens: int | None = None
    params: int | None = None
    model: str | None = None
    peak: float | None = None
    device: str | None = None
    link: str | None = None

    @property
    def asked(self) -> dict[str, object]:
        """The values of the parameters of queries, without those that are not said."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in said.items() if value is not None}

    def asked_of(self, *names: str) -> dict[str, object]:
        """Return the values of those of these parameters that are said."""
        return {name: value for name, value in self.asked.items() if name in names}

    def over(self, other: "Job") -> "Job":
        """Return this job with what `other` says of the rest."""
        return Job(**{**other.asked, **self.asked})  # type: ignore[arg-type]

    def text(self) -> str | None:
        """Write what is said as JSON, with the model's config in it, for a run to keep; None: nothing is."""
        said = Job(**with_config_read(self.asked)).asked
        return json.dumps(said) if said else None

    def words(self) -> Iterator[str]:
        """Yield in words each thing that is said, of the model only that."""
        for name, value in self.asked.items():
            told = f"{value:,}" if isinstance(value, (int, float)) else str(value)
            yield "a model's config" if name == "model" else f"{name} {told}"

    def instead_of(self, other: "Job") -> Iterator[str]:
        """Yield a sentence for each thing that this job says otherwise than `other`, which was stored."""
        now, before = Job(**with_config_read(self.asked)).asked, other.asked
        for name in (name for name in now if name in before and now[name] != before[name]):
            if name == "model":
                yield "As given now, another model's config counts than at ingest."
                continue
            (given,), (stored,) = (Job(**{name: one[name]}).words() for one in (now, before))  # type: ignore[arg-type]
            yield f"As given now, {given} counts; at ingest it was {stored}."

    @property
    def of_a_step(self) -> Sequence[tuple[int, str]]:
        """How much all GPUs do in a step, as far as that is said: amounts, and what they are of."""
        said = ((self.batch, "samples"), (self.tokens, "tokens"))
        return [(amount, word) for amount, word in said if amount]

    @property
    def of_model(self) -> bool:
        """Whether something is said that only shares of a peak need."""
        return any(one is not None for one in (self.params, self.model, self.peak, self.device))


NOTHING_SAID = Job()
"""A job of which its user says nothing."""


def read_job(text: str | None) -> Job:
    """Read what `Job.text` wrote; a run without it says nothing."""
    return NOTHING_SAID if text is None else stated_job(json.loads(text))


def stated_job(values: Mapping[str, Any]) -> Job:
    """Collect what the values of a query say of the job."""
    return Job(**{field.name: values.get(field.name) for field in fields(Job)})


def with_config_read(values: Mapping[str, Any]) -> dict[str, Any]:
    """Put the text of the model's config in the place of its path, so that kept answers know a changed one.

    Raises
    ------
    InputError
        The file cannot be read, or the peak is not above 0.
    """
    model, peak = values.get("model"), values.get("peak")
    if peak is not None and not peak > 0:
        raise InputError(f"parameter peak={peak!r} is not allowed", "give TFLOP/s above 0")
    if model is None or model.lstrip().startswith("{"):
        return dict(values)
    try:
        text = Path(model).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{model} cannot be read: {error}", "name the config.json of the model") from None
    return {**values, "model": text}
