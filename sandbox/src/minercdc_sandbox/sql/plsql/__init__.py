"""PL/SQL: anonymous blocks as clients and setup scripts send them, compiled to closures over one row of cells."""
