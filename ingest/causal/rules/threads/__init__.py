"""Rules between threads: autograd, collectives, the GIL, hand-overs, turns on the CPU."""
