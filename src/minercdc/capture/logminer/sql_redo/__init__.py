"""From the text of SQL_REDO to changes of rows."""
