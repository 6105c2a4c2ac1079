"""Transformations of records between encoder and format: one module for each kind, and the chain of them."""
