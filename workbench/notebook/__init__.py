"""Cards: how runs, reports, predictions and plans show themselves in a notebook."""
