"""Table shapes and what DDL does to them. Pure: no socket, clock or file."""
