"""The queries about no run in particular as methods; their headers also make `bench_queries.pyi`."""

from tracegraph.workbench.methods.methods import Asking, add_methods, of_benches


class BenchQueries(Asking):
    """A method for each query about the database as a whole."""


add_methods(BenchQueries, of_benches())
