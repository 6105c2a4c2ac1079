"""Schemas of Protocol Buffers, compiled by Google's own compiler to classes of Google's library."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.type import date_pb2
from grpc_tools import protoc

from minercdc.messages.protobuf.text import file_text

OURS = ("confluent/meta.proto", "confluent/type/decimal.proto")


def message_class(text: str, name: str) -> Any:
    """The class of a message.

    :param text: of the schema's file.
    :param name: of the message, with its package.
    """
    with tempfile.TemporaryDirectory() as created:
        directory = Path(created)
        for path in OURS:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(str(file_text(path)))
        (directory / "schema.proto").write_text(text)
        common = Path(str(date_pb2.__file__)).parents[2]
        options = [f"-I{directory}", f"-I{files('grpc_tools') / '_proto'}", f"-I{common}", "--include_imports"]
        status = protoc.main(
            ["protoc", *options, f"--descriptor_set_out={directory / 'set'}", str(directory / "schema.proto")]
        )
        assert status == 0, text
        found = descriptor_pb2.FileDescriptorSet.FromString((directory / "set").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
