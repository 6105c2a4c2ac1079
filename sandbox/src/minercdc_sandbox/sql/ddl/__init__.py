"""DDL on tables, indexes, views, synonyms, sequences and stored programs. Functions that read a statement raise the errors of wrong
syntax besides those that they list, and ORA-02091 as `TransactionControl.commit`."""
