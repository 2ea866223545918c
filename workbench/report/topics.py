"""What events are about, by the beginnings of their names."""

DATA_LOADING, COMMUNICATION = "data loading", "communication"
TOPICS = {
    DATA_LOADING: ("enumerate(DataLoader)", "torch/utils/data/dataloader.py"),
    COMMUNICATION: (
        *("nccl", "rccl", "gloo:", "mpi:", "ucc:", "xccl:", "c10d::", "record_param_comms"),
        # Dispatch and combine of experts; a kernel made from a template begins with what it returns.
        *("deep_ep::", "void deep_ep::", "dpsk::ep", "void dpsk::ep"),
    ),
}
"""Beginnings of the names of events that are about a topic, with all that runs inside them."""
