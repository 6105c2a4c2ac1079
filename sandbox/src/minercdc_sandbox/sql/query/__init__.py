"""Translation of queries to SQLite."""
