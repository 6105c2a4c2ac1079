"""Wire formats of keys and values, with and without a schema registry, and how they are read back."""
