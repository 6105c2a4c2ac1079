"""The Spark side: reads the topics and keeps Delta tables equal to Oracle's.

    from minercdc.lake import read_changes, start

It depends on the form of the records only, and could live in a repository of its own.
"""

from minercdc.lake.app import start
from minercdc.lake.stream import read_changes

__all__ = ["read_changes", "start"]
