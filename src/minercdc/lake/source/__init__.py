"""Data sources of Spark: segments of a connector, tables of Oracle AS OF an SCN, a relay's windows."""
