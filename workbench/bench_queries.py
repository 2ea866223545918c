"""The queries about no run in particular as methods; `bench_queries.pyi` is generated from their headers."""

from tracegraph.workbench.methods.methods import Asking, add_methods, of_benches


class BenchQueries(Asking):
    """A method for each query about the database as a whole."""


add_methods(BenchQueries, of_benches())
