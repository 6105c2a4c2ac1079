"""Functions on cells, which SQLite calls."""
