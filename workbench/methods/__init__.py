"""What a run's methods return: pictures, flame graphs, plots, reports."""
