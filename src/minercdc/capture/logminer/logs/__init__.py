"""Selects the redo logs to read, proves that none is missing, and checks the database that mines them."""
