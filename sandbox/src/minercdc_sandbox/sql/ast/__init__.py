"""Syntax trees of expressions, queries and DML. `at` is the 0-based offset in the statement."""

from minercdc_sandbox.sql.ast.changes import *  # noqa: F403
from minercdc_sandbox.sql.ast.leaves import *  # noqa: F403
from minercdc_sandbox.sql.ast.trees import *  # noqa: F403
from minercdc_sandbox.sql.ast.walk import *  # noqa: F403
