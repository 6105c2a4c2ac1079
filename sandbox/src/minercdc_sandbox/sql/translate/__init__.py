"""Translation of expressions and conditions to SQLite."""
