"""Statements that are neither queries nor DML. Their functions read the rest of the statement after its first words and run it;
besides the errors that they list they raise those of wrong syntax, and DDL ORA-02091 as `TransactionControl.commit`."""
