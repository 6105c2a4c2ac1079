"""Functions on cells that SQLite calls."""
