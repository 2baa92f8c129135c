# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads Arrow's C stream interface directly, because a library might hide mistakes."""

import ctypes
import struct


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", ctypes.c_void_p)]
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", ctypes.c_void_p)]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]

# Arrow's formats as struct's.
NUMBERS = {b"c": "b", b"C": "B", b"s": "h", b"S": "H", b"i": "i", b"I": "I", b"l": "q", b"L": "Q", b"g": "d"}


def texts_of(array):
    offsets = struct.unpack(f"{array.length + 1}q", ctypes.string_at(array.buffers[1], 8 * (array.length + 1)))
    data = ctypes.string_at(array.buffers[2], offsets[-1]) if offsets[-1] else b""
    return [data[begin:end].decode("utf-8") for begin, end in zip(offsets, offsets[1:])]


def values_of(schema, array):
    """A column as Python values, and the address of its values."""
    code = NUMBERS[schema.format]
    size = struct.calcsize(code)
    raw = ctypes.string_at(array.buffers[1], size * array.length) if array.length else b""
    values = list(struct.unpack(f"={array.length}{code}", raw))
    if array.null_count:
        bits = ctypes.string_at(array.buffers[0], (array.length + 7) // 8)
        values = [value if bits[i // 8] >> (i % 8) & 1 else None for i, value in enumerate(values)]
    if schema.dictionary:
        texts = texts_of(array.dictionary.contents)
        values = [None if value is None else texts[value] for value in values]
    return values, array.buffers[1]


def read(table):
    """{name: (values, address of the values)} of everything that has __arrow_c_stream__."""
    capsule = table.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = ctypes.cast(pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(Stream))
    schema, array, end = Schema(), Array(), Array()
    assert stream.contents.get_schema(stream, schema) == 0
    assert stream.contents.get_next(stream, array) == 0
    assert stream.contents.get_next(stream, end) == 0
    assert not end.release, "one batch, then the end"
    assert schema.format == b"+s" and schema.n_children == array.n_children
    columns = {}
    for i in range(array.n_children):
        child = schema.children[i].contents
        columns[child.name.decode()] = values_of(child, array.children[i].contents)
    array.release(array)
    schema.release(schema)
    return columns
