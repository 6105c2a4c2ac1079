"""Properties of transformations and predicates."""
