"""The queries about a run as methods; `run_queries.pyi` is generated from the same headers."""

from tracegraph.workbench.methods.methods import Asking, add_methods, of_runs


class RunQueries(Asking):
    """A method for each query about a run."""


add_methods(RunQueries, of_runs())
