"""Properties of what messages hold and of their formats."""
