"""SQL functions: which argument types each takes, and the SQLite expression it becomes."""
