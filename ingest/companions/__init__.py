"""Files that are not traces but explain one: logs of NCCL, output of its tests, recordings of memory."""
