"""SQL functions: which argument types each takes, and the SQLite expression it becomes. Translations raise
ORA-00932 for an argument that cannot be converted to its type."""
