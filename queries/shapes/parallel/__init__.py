"""How the kinds of parallelism spend their time: stages of a pipeline."""
