"""The adapter `txlog`, after Databus for Oracle: triggers note each transaction in a table, and its rows are selected by that."""
