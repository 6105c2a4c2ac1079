"""Turns the text of SQL_REDO into changes of rows."""
