"""Phases of a training step, in the order in which a step usually has them."""

DATA_LOADING, ZERO_GRAD, FORWARD, BACKWARD, OPTIMIZER = (
    "data loading",
    "zero grad",
    "forward",
    "backward",
    "optimizer",
)
PHASES = {
    DATA_LOADING: "the thread fetches its next batch",
    ZERO_GRAD: "gradients are cleared",
    FORWARD: "the model is applied, and what its gradients need is kept",
    BACKWARD: "gradients are computed, with the collectives that this starts",
    OPTIMIZER: "the parameters are updated",
}
"""Each phase and what happens in it."""
ENGINE = "autograd::engine::evaluate_function"
"""Beginning of the names of events in which PyTorch's autograd engine runs an operator of a backward pass."""
LOADING_NAMES = ("enumerate(DataLoader)", "torch/utils/data/dataloader.py")
"""Beginnings of the names of threads' events that load data, with all that runs inside them."""
PHASE_NAMES = tuple(PHASES)


def spelt(name: str) -> str:
    """Normalise the name of a phase as a user may write it: `data_loading` becomes `data loading`."""
    return name.strip().lower().replace("_", " ").replace("-", " ")
