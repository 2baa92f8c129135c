#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_perfetto.py TRACE.json TRACE.pftrace: both exports of one trace agree.

Decodes Perfetto's protobuf itself, as Perfetto's importer would: sequences with their own texts, times as
deltas, defaults. A sequence clears its state first; texts are defined before they are used; tracks are described before
their events, below existing tracks; times never go back; all slices end, innermost first;
each track is written by one sequence; flows have two ends. Slices, their categories and arrows must be those of the JSON,
to the nanosecond.

check_perfetto.py --self-test   shows that broken traces are refused
"""
import collections
import decimal
import gzip
import json
import os
import struct
import sys
import unittest

# Fields of Trace, TracePacket and TrackDescriptor.
TRACE_PACKET = 1
CLOCK_SNAPSHOT, TIMESTAMP, SEQUENCE_ID, TRACK_EVENT, INTERNED_DATA, SEQUENCE_FLAGS = 6, 8, 10, 11, 12, 13
DEFAULTS, TRACK_DESCRIPTOR = 59, 60
TRACK_COUNTER = 8

STATE_CLEARED = 1
BOOTTIME, SEQUENCE_CLOCK = 6, 64
SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4


def fields(data):
    """Yields (number, value) of a message; bytes for what is length-delimited."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a message ends early")
        else:
            raise ValueError(f"wire type {wire}")
        yield number, value


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def message(data):
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


class Sequence:
    """The state that Perfetto keeps for a packet sequence."""

    def __init__(self):
        self.time = None
        self.track = 0
        self.texts = collections.defaultdict(dict)

    def intern(self, data):
        for field, entries in message(data).items():
            for entry in entries:
                parts = message(entry)
                number, text = parts[1][0], parts[2][0].decode("utf-8")
                if self.texts[field].setdefault(number, text) != text:
                    raise ValueError(f"text {number} is said twice")

    def text(self, field, number):
        if number not in self.texts[field]:
            raise ValueError(f"text {number} is used before it is said")
        return self.texts[field][number]


class Reader:
    """Decodes a trace and checks the rules of TracePacket; ValueError if one is broken."""

    def __init__(self, data):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks, self.open, self.writer = {}, collections.defaultdict(list), {}
        self.slices, self.counters, self.instants = [], [], []
        self.flow_starts, self.flow_ends = {}, {}
        for number, packet in fields(data):
            if number != TRACE_PACKET:
                raise ValueError("not a trace")
            self.read(message(packet))
        left = sum(len(stack) for stack in self.open.values())
        if left:
            raise ValueError(f"{left} slices have no end")

    def read(self, packet):
        if not packet[SEQUENCE_ID] or packet[SEQUENCE_ID][0] == 0:
            raise ValueError("a packet belongs to no sequence")
        number = packet[SEQUENCE_ID][0]
        sequence = self.sequences[number]
        if packet[SEQUENCE_FLAGS] and packet[SEQUENCE_FLAGS][0] & STATE_CLEARED:
            self.clear(sequence, packet)
        for descriptor in packet[TRACK_DESCRIPTOR]:
            self.describe(message(descriptor))
        uses_state = packet[INTERNED_DATA] or packet[TRACK_EVENT]
        if uses_state and sequence.time is None:
            raise ValueError("a sequence begins without clearing its state")
        for interned in packet[INTERNED_DATA]:
            sequence.intern(interned)
        if packet[TRACK_EVENT]:
            sequence.time += packet[TIMESTAMP][0]
            if sequence.time >= 1 << 63:
                raise ValueError("a time goes back, or beyond 64 bits")
            self.event(message(packet[TRACK_EVENT][0]), sequence, number)

    @staticmethod
    def clear(sequence, packet):
        sequence.texts.clear()
        defaults = message(packet[DEFAULTS][0])
        if defaults[58] != [SEQUENCE_CLOCK]:
            raise ValueError("times are not on the clock of the sequence")
        sequence.track = message(defaults[11][0])[11][0]
        clocks = [message(clock) for clock in message(packet[CLOCK_SNAPSHOT][0])[1]]
        own = [clock for clock in clocks if clock[1] == [SEQUENCE_CLOCK]]
        if own[0][3] != [1] or not any(clock[1] == [BOOTTIME] and clock[2] == own[0][2] for clock in clocks):
            raise ValueError("the clock of the sequence is not tied to the trace's")
        sequence.time = own[0][2][0]

    def describe(self, track):
        uuid, parent = track[1][0], track[5]
        if uuid in self.tracks:
            raise ValueError(f"track {uuid} is described twice")
        if parent and parent[0] not in self.tracks:
            raise ValueError(f"track {uuid} stands below one that is not there")
        self.tracks[uuid] = track

    def event(self, event, sequence, number):
        kind = event[9][0]
        uuid = event[11][0] if event[11] else sequence.track
        if uuid not in self.tracks:
            raise ValueError(f"track {uuid} was not described")
        if (kind == COUNTER) != bool(self.tracks[uuid][TRACK_COUNTER]):
            raise ValueError(f"track {uuid} has events that are not of its sort")
        if kind != COUNTER and self.writer.setdefault(uuid, number) != number:
            raise ValueError(f"track {uuid} is written by two sequences")
        if kind == SLICE_BEGIN:
            self.begin(event, sequence, uuid)
        elif kind == SLICE_END:
            if not self.open[uuid]:
                raise ValueError(f"a slice of track {uuid} ends that did not begin")
            name, category, start = self.open[uuid].pop()
            self.slices.append((name, category, start, sequence.time - start))
        elif kind == INSTANT:
            self.instants.append((sequence.text(2, event[10][0]), sequence.time))
        elif kind == COUNTER:
            self.counters.append((uuid, sequence.time))

    def begin(self, event, sequence, uuid):
        name = sequence.text(2, event[10][0])
        category = sequence.text(1, event[3][0])
        for annotation in event[4]:
            parts = message(annotation)
            sequence.text(3, parts[1][0])
            if parts[17]:
                sequence.text(29, parts[17][0])
        self.open[uuid].append((name, category, sequence.time))
        for field, ends in ((47, self.flow_starts), (48, self.flow_ends)):
            for flow in event[field]:
                number = struct.unpack("<Q", flow)[0]
                if number in ends:
                    raise ValueError(f"flow {number} has two ends of one sort")
                ends[number] = (name, sequence.time)


def ns(micros, base):
    return base + int(decimal.Decimal(micros) * 1000)


def json_slices(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    base = trace["baseTimeNanoseconds"]
    slices, begun, flows = [], {}, [set(), set()]
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "Trace":
            wider = 1 if event["cat"] == "gpu_user_annotation" else 0  # the JSON widens them, as Kineto does
            slices.append((event["name"], event["cat"], ns(event["ts"], base) + wider, int(event["dur"] * 1000) - 2 * wider))
        elif event["ph"] == "b":
            begun[event["id"]] = event
        elif event["ph"] == "e":
            first = begun[event["id"]]
            start = ns(first["ts"], base)
            slices.append((first["name"], first["cat"], start, ns(event["ts"], base) - start))
        elif event["ph"] in "sf":
            flows[event["ph"] == "f"].add((event["cat"], event["id"]))
    return slices, flows[0] & flows[1]


def encoded(number, value):
    """A field of a message, for the self-test."""
    def varint_bytes(value):
        out = bytearray()
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes(out) + bytes([value])
    if isinstance(value, int):
        return varint_bytes(number << 3) + varint_bytes(value)
    body = value if isinstance(value, bytes) else b"".join(encoded(*part) for part in value)
    return varint_bytes(number << 3 | 2) + varint_bytes(len(body)) + body


class SelfTest(unittest.TestCase):
    DESCRIBED = [(SEQUENCE_ID, 1), (TRACK_DESCRIPTOR, [(1, 7)])]
    CLEARED = [(SEQUENCE_ID, 2), (SEQUENCE_FLAGS, STATE_CLEARED), (DEFAULTS, [(58, SEQUENCE_CLOCK), (11, [(11, 7)])]),
               (CLOCK_SNAPSHOT, [(1, [(1, BOOTTIME), (2, 100)]), (1, [(1, SEQUENCE_CLOCK), (2, 100), (3, 1)])])]
    TEXTS = (INTERNED_DATA, [(2, [(1, 1), (2, b"name")]), (1, [(1, 1), (2, b"cat")])])
    BEGIN = [(TIMESTAMP, 5), (SEQUENCE_ID, 2), TEXTS, (TRACK_EVENT, [(9, SLICE_BEGIN), (10, 1), (3, 1)])]
    END = [(TIMESTAMP, 3), (SEQUENCE_ID, 2), (TRACK_EVENT, [(9, SLICE_END)])]

    @staticmethod
    def read(*packets):
        return Reader(b"".join(encoded(TRACE_PACKET, packet) for packet in packets))

    def refused(self, why, *packets):
        with self.assertRaisesRegex(ValueError, why):
            self.read(*packets)

    def test_a_slice_is_read(self):
        self.assertEqual(self.read(self.DESCRIBED, self.CLEARED, self.BEGIN, self.END).slices, [("name", "cat", 105, 3)])

    def test_broken_rules_are_named(self):
        without_texts = [part for part in self.BEGIN if part != self.TEXTS]
        self.refused("not described", self.CLEARED, self.BEGIN, self.END)
        self.refused("without clearing", self.DESCRIBED, self.BEGIN, self.END)
        self.refused("before it is said", self.DESCRIBED, self.CLEARED, without_texts, self.END)
        self.refused("no end", self.DESCRIBED, self.CLEARED, self.BEGIN)
        self.refused("did not begin", self.DESCRIBED, self.CLEARED, self.END)
        self.refused("described twice", self.DESCRIBED, self.DESCRIBED)
        self.refused("below one", [(SEQUENCE_ID, 1), (TRACK_DESCRIPTOR, [(1, 7), (5, 3)])])
        self.refused("no sequence", [(TIMESTAMP, 1)])
        self.refused("beyond 64 bits", self.DESCRIBED, self.CLEARED, [(TIMESTAMP, (1 << 64) - 1)] + self.BEGIN[1:])


def main():
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=["check_perfetto"])
    with open(sys.argv[2], "rb") as file:
        reader = Reader(file.read())
    expected, flows = json_slices(sys.argv[1])
    problems = []
    if collections.Counter(reader.slices) != collections.Counter(expected):
        lost = list((collections.Counter(expected) - collections.Counter(reader.slices)).items())
        added = list((collections.Counter(reader.slices) - collections.Counter(expected)).items())
        problems.append(f"slices differ; only in JSON: {str(lost[:3])[:300]}; only in protobuf: {str(added[:3])[:300]}")
    if set(reader.flow_starts) != set(reader.flow_ends):
        problems.append("a flow has only one end")
    if (len(reader.flow_starts) > 0) != (len(flows) > 0) or len(reader.flow_starts) < len(flows):
        problems.append(f"{len(flows)} flows in JSON, {len(reader.flow_starts)} here")
    for problem in problems:
        print(problem)
    sizes = os.path.getsize(sys.argv[1]), os.path.getsize(sys.argv[2])
    print(f"{len(reader.slices)} slices, {len(reader.flow_starts)} flows, {len(reader.counters)} counter values, "
          f"{len(reader.instants)} instants; {sizes[0] / sizes[1]:.1f} times smaller than the JSON")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
