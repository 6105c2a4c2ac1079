"""The adapter `txlog`: triggers note each transaction in a table, and the rows are read by that, as by Databus for Oracle."""
