"""Files that are no trace and explain one: logs of NCCL, output of its tests."""
