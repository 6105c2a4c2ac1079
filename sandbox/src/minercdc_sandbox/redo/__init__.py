"""Change records in redo order: batches of rows, log groups, switch, archive."""
