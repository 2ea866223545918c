"""What a run's work amounts to: its operators' FLOPs and bytes, and hardware counters that were read."""
