"""How rows are kept: SCN clock, row versions in SQLite, transactions, locks, ROWIDs."""
