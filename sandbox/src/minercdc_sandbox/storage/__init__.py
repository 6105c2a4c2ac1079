"""How rows are kept: SCN clock, row versions in SQLite, transactions and their strands of redo, locks, ROWIDs."""
