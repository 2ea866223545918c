"""What a report finds: the verdict, recommendations, metrics, and what each rests on."""
