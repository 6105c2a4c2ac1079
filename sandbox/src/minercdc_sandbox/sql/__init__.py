"""Oracle SQL and PL/SQL: parse, resolve, type, translate to SQLite, run."""
