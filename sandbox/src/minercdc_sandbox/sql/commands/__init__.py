"""Statements that are no queries, DML or DDL of schemas. Functions here read the rest of one after its first words and run it;
besides the errors that they list they raise those of wrong syntax, and DDL ORA-02091 as `TransactionControl.commit`."""
