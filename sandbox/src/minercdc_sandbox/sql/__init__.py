"""Oracle SQL: parse, resolve, type, translate to SQLite, run."""
