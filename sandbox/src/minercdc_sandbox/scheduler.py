"""DBMS_SCHEDULER: jobs that repeat after seconds, minutes, hours or days, run by a thread of the server in sessions of their owners.

Only PLSQL_BLOCK and STORED_PROCEDURE without arguments, and `FREQ=..;INTERVAL=n` (PL/SQL Packages and Types Reference, DBMS_SCHEDULER,
"Calendaring Syntax"). There are no programs, schedules, chains and windows: their procedures and parameters are unknown.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from minercdc_sandbox.arguments import Arguments, procedures
from minercdc_sandbox.faults import ConnectionLost
from minercdc_sandbox.interfaces import OraError, Session
from minercdc_sandbox.objects import Job
from minercdc_sandbox.sql.privileges import require
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.view_session import ViewSession

_UNITS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600, "DAILY": 86400}
_KINDS = ("PLSQL_BLOCK", "STORED_PROCEDURE")
_REPEAT = re.compile(r"FREQ\s*=\s*(\w+)\s*(?:;\s*INTERVAL\s*=\s*(\d+)\s*)?;?\s*", re.IGNORECASE)


def seconds_of(interval: str) -> float:
    """Length of a repeat interval in seconds. Raises ORA-03001 for a text other than `FREQ=..[;INTERVAL=n]`, in any case, with
    FREQ from SECONDLY to DAILY; ORA-27413 for an INTERVAL that is not from 1 to 99."""
    match = _REPEAT.fullmatch(interval.strip())
    if match is None or match[1].upper() not in _UNITS:
        if not interval.strip().upper().startswith("FREQ"):
            raise OraError(3001, f"unimplemented feature: repeat_interval {interval}, a PL/SQL expression")
        raise OraError(3001, f"unimplemented feature: repeat_interval {interval}")
    count = int(match[2] or 1)
    if not 1 <= count <= 99:
        raise OraError(27413, f"repeat interval is too long: {interval}")
    return _UNITS[match[1].upper()] * float(count)


def _names(session: ViewSession, arguments: Arguments, parameter: str) -> list[tuple[str, str]]:
    found = []
    for text in arguments.text(parameter).split(","):
        parts = [part[1:-1] if part.startswith('"') else part.upper() for part in text.strip().split(".")]
        found.append((parts[0] if len(parts) > 1 else session.schema, parts[-1]))
    return found


def _jobs(session: ViewSession, arguments: Arguments, parameter: str) -> list[Job]:
    """The jobs that a parameter lists with commas, in that order. Raises ORA-27475 for an unknown job, ORA-01031 for one of
    another user without CREATE ANY JOB, and as `Arguments.text`."""
    jobs = session.catalog.containers[session.container].jobs
    found = []
    for key in _names(session, arguments, parameter):
        if key not in jobs:
            raise OraError(27475, f'unknown job "{key[0]}"."{key[1]}"')
        if key[0] != session.user:
            require(session.catalog, session.container, session.user, "CREATE ANY JOB")
        found.append(jobs[key])
    return found


def _create(session: ViewSession, arguments: Arguments) -> None:
    [(owner, name)] = _names(session, arguments, "JOB_NAME")
    catalog = session.catalog
    require(catalog, session.container, session.user, *(("CREATE JOB",) if owner == session.user else ()), "CREATE ANY JOB")
    kind = arguments.text("JOB_TYPE").upper()
    if kind not in _KINDS:
        raise OraError(3001, f"unimplemented feature: a job of type {kind}")
    for parameter in ("NUMBER_OF_ARGUMENTS", "START_DATE", "END_DATE"):
        if arguments.has(parameter) and (parameter != "NUMBER_OF_ARGUMENTS" or arguments.integer(parameter)):
            raise OraError(3001, f"unimplemented feature: {parameter} of a job")
    repeat = arguments.text("REPEAT_INTERVAL") if arguments.has("REPEAT_INTERVAL") else None
    seconds = seconds_of(repeat) if repeat is not None else None
    drops = not arguments.has("AUTO_DROP") or arguments.integer("AUTO_DROP") == 1
    with _changing(session):
        if catalog.object_named(session.container, owner, name) is not None:
            raise OraError(27477, f'"{owner}"."{name}" already exists')
        job = Job(
            session.container,
            owner,
            name,
            catalog.new_object_id(),
            kind,
            arguments.text("JOB_ACTION"),
            session.storage.clock.now(),
            repeat,
            seconds,
            arguments.integer("ENABLED") == 1,
            drops,
            comments=arguments.text("COMMENTS") if arguments.has("COMMENTS") else None,
        )
        catalog.containers[session.container].jobs[owner, name] = job


@contextmanager
def _changing(session: ViewSession) -> Iterator[None]:
    """Commit the caller's transaction, hold the storage lock while jobs change within the context, then note the change and wake
    the scheduler. Raises the error of a COMMIT that is refused in a trigger or a query, and as `Session.commit`."""
    session.programs.check_command("COMMIT")
    with session.storage.lock:
        session.commit()
        yield
        session.catalog.version += 1
        session.storage.jobs_changed.set()


def _enable(session: ViewSession, arguments: Arguments) -> None:
    _set_enabled(session, arguments, enabled=True)


def _disable(session: ViewSession, arguments: Arguments) -> None:
    _set_enabled(session, arguments, enabled=False)


def _set_enabled(session: ViewSession, arguments: Arguments, *, enabled: bool) -> None:
    with _changing(session):
        for job in _jobs(session, arguments, "NAME"):
            job.enabled = enabled


def _drop(session: ViewSession, arguments: Arguments) -> None:
    """DROP_JOB. A job that runs is dropped with FORCE only (else ORA-27478); that run goes on to its end. Raises as `_changing`
    and `_jobs`."""
    with _changing(session):
        for job in _jobs(session, arguments, "JOB_NAME"):
            if job.running and arguments.integer("FORCE") != 1:
                raise OraError(27478, f'job "{job.owner}"."{job.name}" is running')
            del session.catalog.containers[session.container].jobs[job.owner, job.name]


def _run(session: ViewSession, arguments: Arguments) -> None:
    """RUN_JOB: run each job in the calling session, in its transaction, as USE_CURRENT_SESSION is TRUE by default; an error of a
    job is raised to the caller and ends the call. Raises ORA-03001 for USE_CURRENT_SESSION => FALSE, and as `_jobs`."""
    for job in _jobs(session, arguments, "JOB_NAME"):
        if arguments.has("USE_CURRENT_SESSION") and arguments.integer("USE_CURRENT_SESSION") == 0:
            raise OraError(3001, "unimplemented feature: RUN_JOB with USE_CURRENT_SESSION => FALSE")
        session.statements.run_inner(text_of(job))
        with session.storage.lock:
            job.runs += 1
            session.catalog.version += 1


def text_of(job: Job) -> str:
    """The PL/SQL block that a job runs: an action that is no block gets BEGIN and END."""
    if job.kind == "STORED_PROCEDURE":
        return f"begin {job.action}; end;"
    text = job.action.strip().rstrip("/").rstrip()
    return text if text.upper().startswith(("BEGIN", "DECLARE", "<<")) else f"begin {text.removesuffix(';')}; end;"


class Scheduler:
    """Runs the enabled jobs that are due, one after another, in a thread of its own, from `watch` to `stop`. A job is due at once
    when it is enabled, then `seconds` after the start of its last run; one without a repeat interval is disabled after its run,
    and dropped with AUTO_DROP. Errors of a job end its run only.

    :param open_session: returns a new session of a job's owner in a container.
    """

    def __init__(self, storage: Storage, open_session: Callable[[str, int], Session]) -> None:
        self._storage, self._open_session = storage, open_session
        self._due: dict[int, float] = {}
        self._thread: threading.Thread | None = None
        self._stopped = False

    def watch(self) -> None:
        """Begin the thread, which runs jobs until `stop`; once only."""
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the job that runs; waits for it ten seconds at most."""
        self._stopped = True
        self._storage.jobs_changed.set()
        if self._thread is not None:
            self._thread.join(10)

    def _run(self) -> None:
        while True:
            self._storage.jobs_changed.clear()
            if self._stopped:  # looked at after that, or the event of `stop` could be lost
                return
            with self._storage.lock:
                job, wait = self._next()
                if job is not None:
                    job.running = True
            if job is not None:
                self._run_job(job)
            else:
                self._storage.jobs_changed.wait(wait)

    def _next(self) -> tuple[Job | None, float | None]:
        """An enabled job that is due and 0.0, else None and the seconds until one is due, (None, None) while no job is enabled.
        Jobs of MOUNTED containers are not looked at. Notes when each job that is new here is due: now. Under the storage lock."""
        now = time.monotonic()
        wait: float | None = None
        enabled: set[int] = set()
        for place in self._storage.catalog.containers.values():
            for job in place.jobs.values() if place.open_mode != "MOUNTED" else ():
                if not job.enabled:
                    continue
                enabled.add(job.object_id)
                due = self._due.setdefault(job.object_id, now)
                if due <= now:
                    return job, 0.0
                wait = due - now if wait is None else min(wait, due - now)
        self._due = {key: due for key, due in self._due.items() if key in enabled}
        return None, wait

    def _run_job(self, job: Job) -> None:
        begun, error = time.monotonic(), None
        job.last_run = self._storage.clock.now()
        try:
            session = self._open_session(job.owner, job.container)
            try:
                session.execute(text_of(job))
                session.commit()
            finally:
                session.close()
        except (OraError, ConnectionLost) as caught:
            error = str(caught)
        with self._storage.lock:
            job.running = False
            job.runs += 1
            job.failures += error is not None
            job.error = error
            if job.seconds is not None:
                self._due[job.object_id] = begun + job.seconds
            else:
                job.enabled = False
                place = self._storage.catalog.containers.get(job.container)
                if job.auto_drop and place is not None:
                    place.jobs.pop((job.owner, job.name), None)
            self._storage.catalog.version += 1
            self._storage.durability.settle()


PROCEDURES = procedures(
    {
        "DBMS_SCHEDULER.CREATE_JOB": (
            (
                *("JOB_NAME", "JOB_TYPE", "JOB_ACTION", "NUMBER_OF_ARGUMENTS", "START_DATE", "REPEAT_INTERVAL", "END_DATE"),
                *("JOB_CLASS", "ENABLED", "AUTO_DROP", "COMMENTS"),
            ),
            _create,
        ),
        "DBMS_SCHEDULER.DISABLE": (("NAME", "FORCE", "COMMIT_SEMANTICS"), _disable),
        "DBMS_SCHEDULER.DROP_JOB": (("JOB_NAME", "FORCE", "DEFER", "COMMIT_SEMANTICS"), _drop),
        "DBMS_SCHEDULER.ENABLE": (("NAME", "COMMIT_SEMANTICS"), _enable),
        "DBMS_SCHEDULER.RUN_JOB": (("JOB_NAME", "USE_CURRENT_SESSION"), _run),
    }
)
"""The package's procedures by qualified name."""
