"""PL/SQL: anonymous blocks as clients and setup scripts send them, stored programs and triggers, compiled to closures over one
row of cells."""
