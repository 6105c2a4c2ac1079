"""Schema registries: how they are reached, and which schemas are registered and read back."""
