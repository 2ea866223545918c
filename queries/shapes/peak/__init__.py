"""What a run makes of the peak of its devices: which share it reaches, and where the rest goes."""
