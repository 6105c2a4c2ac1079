"""Measures what each stage of the pipeline costs; see docs/performance.md."""
