"""All views of the sandbox, with the GV$ forms that connectors name."""

from __future__ import annotations

from minercdc_sandbox.interfaces import View
from minercdc_sandbox.logminer import views as logminer
from minercdc_sandbox.views import (
    constraints,
    instance,
    partitions,
    programs,
    redo_logs,
    schema_objects,
    segments,
    sessions,
    tables,
    users,
)

ALL_VIEWS: tuple[View, ...] = (
    *instance.VIEWS,
    *redo_logs.VIEWS,
    *sessions.VIEWS,
    *tables.VIEWS,
    *constraints.VIEWS,
    *schema_objects.VIEWS,
    *partitions.VIEWS,
    *segments.VIEWS,
    *programs.VIEWS,
    *users.VIEWS,
    *logminer.VIEWS,
)
