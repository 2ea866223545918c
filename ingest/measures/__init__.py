"""What a run's work amounts to: its operators' FLOPs and bytes, and the hardware counters that were read."""
