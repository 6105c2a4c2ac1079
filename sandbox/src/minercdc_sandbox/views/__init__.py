"""Dictionary and dynamic performance views, one file per family."""
