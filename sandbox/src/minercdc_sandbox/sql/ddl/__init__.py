"""DDL on tables, indexes, views, synonyms, sequences and stored programs. Functions that read a statement from a parser raise the
errors of wrong syntax besides those that they list, and ORA-02091 as `TransactionControl.commit`; they commit, also when the
statement then fails."""
