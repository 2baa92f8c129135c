#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_perfetto.py TRACE.json TRACE.pftrace: both exports of one trace tell the same.

Decodes Perfetto's protobuf by its own few lines, as Perfetto's importer would: sequences with texts of their own, times as
deltas, defaults. Slices, their categories and arrows must be those of the JSON, to the nanosecond; slices of a track nest.
"""
import collections
import decimal
import gzip
import json
import os
import struct
import sys

SEQUENCE_CLOCK = 64


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
    """What Perfetto remembers of a packet sequence."""

    def __init__(self):
        self.time = None
        self.track = 0
        self.texts = collections.defaultdict(dict)

    def intern(self, data):
        for field, entries in message(data).items():
            for entry in entries:
                parts = message(entry)
                self.texts[field][parts[1][0]] = parts[2][0].decode("utf-8")


class Reader:
    def __init__(self, data):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks, self.open = {}, collections.defaultdict(list)
        self.slices, self.counters, self.instants = [], [], []
        self.flow_starts, self.flow_ends = {}, {}
        for number, packet in fields(data):
            if number != 1:
                raise ValueError("not a trace")
            self.read(message(packet))
        left = sum(len(stack) for stack in self.open.values())
        if left:
            raise ValueError(f"{left} slices have no end")

    def read(self, packet):
        sequence = self.sequences[packet[10][0]]
        if packet[13] == [1]:
            defaults = message(packet[59][0])
            if defaults[58] != [SEQUENCE_CLOCK]:
                raise ValueError("times are not on the clock of the sequence")
            sequence.track = message(defaults[11][0])[11][0]
            clocks = [message(clock) for clock in message(packet[6][0])[1]]
            own = [clock for clock in clocks if clock[1] == [SEQUENCE_CLOCK]]
            if own[0][3] != [1] or not any(clock[1] == [6] and clock[2] == own[0][2] for clock in clocks):
                raise ValueError("the clock of the sequence is not tied to the trace's")
            sequence.time = own[0][2][0]
        if packet[60]:
            track = message(packet[60][0])
            self.tracks[track[1][0]] = track
        for interned in packet[12]:
            sequence.intern(interned)
        if packet[11]:
            sequence.time += packet[8][0]
            self.event(message(packet[11][0]), sequence)

    def event(self, event, sequence):
        kind = event[9][0]
        track = event[11][0] if event[11] else sequence.track
        if track not in self.tracks:
            raise ValueError(f"track {track} was not described")
        if kind == 1:
            name = sequence.texts[2][event[10][0]]
            category = sequence.texts[1][event[3][0]]
            for annotation in event[4]:
                parts = message(annotation)
                sequence.texts[3][parts[1][0]]
                if parts[17]:
                    sequence.texts[29][parts[17][0]]
            self.open[track].append((name, category, sequence.time))
            for field, ends in ((47, self.flow_starts), (48, self.flow_ends)):
                for flow in event[field]:
                    ends[struct.unpack("<Q", flow)[0]] = (name, sequence.time)
        elif kind == 2:
            name, category, start = self.open[track].pop()
            self.slices.append((name, category, start, sequence.time - start))
        elif kind == 3:
            self.instants.append((sequence.texts[2][event[10][0]], sequence.time))
        elif kind == 4:
            self.counters.append((track, sequence.time))


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


def main():
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
