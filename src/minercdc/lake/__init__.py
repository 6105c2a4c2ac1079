"""The Spark side: reads the topics and keeps Delta tables equal to Oracle's.

from minercdc.lake import read_changes, session, start, tables
"""

from minercdc.lake.app import Lake, start
from minercdc.lake.reader import LakeTables, tables
from minercdc.lake.spark_session import session
from minercdc.lake.stream import read_changes

__all__ = ["Lake", "LakeTables", "read_changes", "session", "start", "tables"]
