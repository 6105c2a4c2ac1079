"""Puts the models in the place of time, threads, database and Kafka in every module of the product, once for a process.

Modules import these by name, and have some of them as defaults of parameters: so every module is gone through, and what is one of the
real things is replaced by one that looks for the present world.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import queue
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import confluent_kafka
import confluent_kafka.admin
import tests.simulate.tasks as model
from tests.simulate.kafka import SimAdmin, SimConsumer, SimProducer

from minercdc.oracle.connect import connect
from minercdc.pipeline.start_checks import check_prerequisites

if TYPE_CHECKING:
    from tests.simulate.world import World

_world: list[World] = []
_PACKAGES: Final = (
    "minercdc.capture.logminer",
    "minercdc.messages",
    "minercdc.observe.notifications",
    "minercdc.oracle",
    "minercdc.pipeline",
    "minercdc.signals",
    "minercdc.sinks",
    "minercdc.snapshot",
    "minercdc.stream",
)


def enter(world: World) -> None:
    """Make it the present world."""
    _install()
    _world[:] = [world]


def _present() -> World:
    return _world[0]


def _monotonic() -> float:
    return _present().tasks.now


def _seconds() -> float:
    return 1_772_366_400.0 + _present().tasks.now  # noon of the source's first day, UTC


def _nanoseconds() -> int:
    return int(_seconds() * 1_000_000) * 1000


def _connect(config: Any, container: str) -> Any:
    return _present().connection(container)


def _uuid4() -> uuid.UUID:
    return uuid.UUID(hex=_present().names.hexadecimal(32))


class _Time(ModuleType):
    """As the module `time`."""

    monotonic = perf_counter = staticmethod(_monotonic)
    time = staticmethod(_seconds)
    time_ns = staticmethod(_nanoseconds)
    monotonic_ns = staticmethod(lambda: int(_monotonic() * 1e9))

    @staticmethod
    def sleep(seconds: float) -> None:
        _present().tasks.sleep(seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class _Threading(ModuleType):
    """As the module `threading`."""

    Thread = staticmethod(lambda **given: model.SimThread(_present().tasks, **given))
    Event = staticmethod(lambda: model.SimEvent(_present().tasks))
    Lock = staticmethod(lambda: model.SimLock(_present().tasks))
    Condition = staticmethod(lambda lock=None: model.SimCondition(_present().tasks, lock))

    def __getattr__(self, name: str) -> Any:
        return getattr(threading, name)


class _Secrets(ModuleType):
    """As the module `secrets`."""

    @staticmethod
    def token_hex(count: int = 16) -> str:
        return _present().names.hexadecimal(2 * count)

    def __getattr__(self, name: str) -> Any:
        return getattr(secrets, name)


class _Queue:
    """As queue.Queue."""

    def __new__(cls, maxsize: int = 0) -> Any:
        return model.SimQueue(_present().tasks, maxsize)

    def __class_getitem__(cls, _: object) -> type[_Queue]:
        return cls


def _replacements() -> dict[int, Any]:
    module = _Threading("threading")
    found = [
        (time, _Time("time")),
        (time.monotonic, _monotonic),
        (time.time, _seconds),
        (time.time_ns, _nanoseconds),
        (time.sleep, _Time.sleep),
        (threading, module),
        (threading.Thread, module.Thread),
        (threading.Event, module.Event),
        (threading.Lock, module.Lock),
        (threading.Condition, module.Condition),
        (queue.Queue, _Queue),
        (secrets, _Secrets("secrets")),
        (uuid.uuid4, _uuid4),
        (connect, _connect),
        (check_prerequisites, lambda _, **__: []),
        (confluent_kafka.Producer, lambda settings, *_, **__: SimProducer(_present().cluster, settings)),
        (confluent_kafka.Consumer, lambda settings, *_, **__: SimConsumer(_present().cluster, settings)),
        (confluent_kafka.admin.AdminClient, lambda *_, **__: SimAdmin(_present().cluster)),
    ]
    return {id(real): stand_in for real, stand_in in found}


_undo: list[Callable[[], None]] = []


def leave() -> None:
    """Put the real things back."""
    for undo in reversed(_undo):
        undo()
    _undo.clear()
    _world.clear()


def _install() -> None:
    if _undo:
        return
    for package in _PACKAGES:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
            importlib.import_module(found.name)
    stand_ins = _replacements()
    for name, module in sorted(sys.modules.items()):
        if name.startswith(("minercdc.", "tenacity")) and not name.startswith(
            ("minercdc.native._", "minercdc.oracle.connect")
        ):
            _replace_in(module, stand_ins)


def _replace_in(module: ModuleType, stand_ins: dict[int, Any]) -> None:
    for name, value in list(vars(module).items()):
        if id(value) in stand_ins:
            _undo.append(partial(setattr, module, name, value))
            setattr(module, name, stand_ins[id(value)])
        for function in _functions(module, value):
            if any(id(one) in stand_ins for one in function.__defaults__ or ()):
                _undo.append(partial(setattr, function, "__defaults__", function.__defaults__))
                function.__defaults__ = tuple(stand_ins.get(id(one), one) for one in function.__defaults__ or ())
            named = function.__kwdefaults__ or {}
            if any(id(one) in stand_ins for one in named.values()):
                _undo.append(partial(setattr, function, "__kwdefaults__", named))
                function.__kwdefaults__ = {key: stand_ins.get(id(one), one) for key, one in named.items()}


def _functions(module: ModuleType, value: object) -> Iterator[FunctionType]:
    if isinstance(value, FunctionType) and value.__module__ == module.__name__:
        yield value
    elif inspect.isclass(value) and value.__module__ == module.__name__:
        yield from (function for function in vars(value).values() if isinstance(function, FunctionType))
