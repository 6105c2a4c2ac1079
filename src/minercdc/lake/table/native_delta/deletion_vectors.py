"""Delta's deletion vectors: which rows of a data file count as deleted, by their numbers within it.

Delta's protocol says their form (PROTOCOL.md of delta-io/delta, "Deletion Vectors"): a magic number, then a 64-bit Roaring bitmap in its
portable format.
"""

from __future__ import annotations

import base64
import binascii
import struct
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minercdc.lake.spark.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from pyroaring import BitMap64

_MAGIC = struct.pack("<i", 1681511377)
_FILE_VERSION = b"\x01"
# Delta's base85 is Z85; Python's library has the same digits by other characters.
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_Z85, _FROM_Z85 = bytes.maketrans(_B85, _Z85), bytes.maketrans(_Z85, _B85)
_UUID_CHARACTERS = 20


class UnknownVector(Exception):
    """A deletion vector that is not read here, or that its file does not have."""


def read_vector(files: HadoopFiles, descriptor: Mapping[str, Any]) -> BitMap64:
    """The numbers of the deleted rows.

    :param files: of the table's directory.
    :param descriptor: as the log has it.
    :raises UnknownVector: it is of a form that is not known, or damaged.
    """
    from pyroaring import BitMap64

    kind, place = descriptor["storageType"], str(descriptor["pathOrInlineDv"])
    if kind == "i":
        content = _from_z85(place)[: int(descriptor["sizeInBytes"])]
    elif kind == "u":
        content = _of_file(files, vector_file(place), int(descriptor["offset"]), int(descriptor["sizeInBytes"]))
    else:
        raise UnknownVector(f"storage type {kind}")
    if content[:4] != _MAGIC:
        raise UnknownVector("another form of a bitmap")
    try:
        found = BitMap64.deserialize(content[4:])
    except ValueError as error:
        raise UnknownVector(str(error)) from error
    if len(found) != int(descriptor["cardinality"]):
        raise UnknownVector(f"{len(found)} rows in place of {descriptor['cardinality']}")
    return found


def vector_file(place: str) -> str:
    """The file, relative to the table, of a descriptor's `pathOrInlineDv` of storage type `u`: a directory, and a UUID."""
    directory, name = place[:-_UUID_CHARACTERS], uuid.UUID(bytes=_from_z85(place[-_UUID_CHARACTERS:]))
    return f"{directory}/deletion_vector_{name}.bin" if directory else f"deletion_vector_{name}.bin"


def _of_file(files: HadoopFiles, name: str, offset: int, size: int) -> bytes:
    with files.source(name) as source:
        source.seek(offset)
        found: bytes = source.read(size + 8)
    content = found[4 : 4 + size]
    if len(found) < size + 8 or found[:4] != struct.pack(">i", size):
        raise UnknownVector(f"{name} does not have it at {offset}")
    if found[4 + size :] != struct.pack(">I", binascii.crc32(content)):
        raise UnknownVector(f"{name} is damaged at {offset}")
    return content


def write_vectors(files: HadoopFiles, vectors: Sequence[BitMap64]) -> list[dict[str, Any]]:
    """Write deletion vectors into one file; their descriptors, in order.

    :param files: of the table's directory.
    """
    name = uuid.uuid4()
    place, content, descriptors = _to_z85(name.bytes), bytearray(_FILE_VERSION), []
    for vector in vectors:
        vector.run_optimize()
        data = _MAGIC + vector.serialize()
        descriptors.append(
            {
                "storageType": "u",
                "pathOrInlineDv": place,
                "offset": len(content),
                "sizeInBytes": len(data),
                "cardinality": len(vector),
            }
        )
        content += struct.pack(">i", len(data)) + data + struct.pack(">I", binascii.crc32(data))
    if descriptors:
        files.write(vector_file(place), bytes(content))
    return descriptors


def _from_z85(text: str) -> bytes:
    try:
        return base64.b85decode(text.encode("ascii").translate(_FROM_Z85))
    except ValueError as error:
        raise UnknownVector(str(error)) from error


def _to_z85(content: bytes) -> str:
    return base64.b85encode(content).translate(_TO_Z85).decode("ascii")
