"""DDL on tables, indexes, views, synonyms, sequences and stored programs. Functions that read a statement from a parser raise the
errors of wrong syntax besides those that they list, and ORA-02091 as `TransactionControl.commit`. They commit once it is read,
also when it then fails; what fails while it is read commits nothing, except ALTER TABLE and CREATE of programs, which commit
before."""
