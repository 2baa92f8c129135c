# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PyTorch's suite checks of work on a GPU, checked of recordings that were made on one."""

import collections
import json

import pytest

import sonde
from conftest import ROOT
from sonde.profiler._kineto_results import KinetoResults

STREAMS = ROOT / "tests/data/torch-2.11-h200/graph_streams.pt.trace.json.gz"
DEVICE = ("cuda_runtime", "gpu_memcpy", "kernel")


@pytest.fixture(scope="module", params=["transformer", "graph_streams"])
def recording(request, transformer):
    return transformer if request.param == "transformer" else sonde.open(STREAMS)


@pytest.fixture(scope="module")
def exported(recording, tmp_path_factory):
    path = tmp_path_factory.mktemp("gpu") / "trace.json"
    recording.export(str(path))
    return json.loads(path.read_text())


def test_kernels_say_where_and_how_they_ran(exported):
    kernels = [event for event in exported["traceEvents"] if event.get("cat") == "kernel"]
    assert kernels and any("grid" in kernel["args"] for kernel in kernels)
    for kernel in kernels:
        assert {"device", "stream", "correlation"} <= set(kernel["args"])
        assert ("grid" in kernel["args"]) == ("block" in kernel["args"])


def test_flows_to_a_gpu_are_those_of_the_file(recording, exported):
    flows = [event for event in exported["traceEvents"] if event.get("cat") == "ac2g"]
    events = [event for event in recording.events() if event.flow_type == 2]
    for phase, is_start in (("s", True), ("f", False)):
        assert {flow["id"] for flow in flows if flow["ph"] == phase} == {event.flow_id for event in events if event.flow_start == is_start}
    assert events and all(isinstance(event.flow_id, int) and isinstance(event.flow_start, bool) for event in events)


def test_metadata_of_device_events_are_those_of_the_file(recording, exported):
    of_events = collections.defaultdict(list)
    for event in recording.events():
        if event.external_id and event.id and event.activity_type in DEVICE:
            of_events[event.name, event.activity_type, event.external_id, event.id].append(event.metadata)
    in_file = collections.defaultdict(list)
    for event in exported["traceEvents"]:
        args = event.get("args", {})
        if event.get("cat") in DEVICE and "External id" in args and "correlation" in args:
            in_file[event["name"], event["cat"], args["External id"], args["correlation"]].append(args)
    assert in_file and set(of_events) == set(in_file)
    for key, records in in_file.items():
        assert len(records) == len(of_events[key])
        for ours in of_events[key]:
            assert any(all(record.get(field) == value for field, value in ours.items()) for record in records)


@pytest.fixture(scope="module")
def fragment(recording):
    kernel = next(one for one in KinetoResults(recording).trace_activities() if one.type() == "kernel")
    return kernel.metadata_json()


def test_metadata_of_a_kernel_are_members_of_an_object(fragment):
    assert isinstance(json.loads("{" + fragment + "}"), dict)
    assert '"correlation": ' in fragment and '"stream": ' in fragment


def test_metadata_of_a_kernel_have_kinetos_fields_and_types(fragment):
    fields = json.loads("{" + fragment + "}")
    for name in ("device", "stream", "correlation", "queued", "context", "registers per thread", "shared memory"):
        assert isinstance(fields[name], int), name
    assert {"blocks per SM", "warps per SM"} <= set(fields)
    assert [len(fields[name]) for name in ("grid", "block")] == [3, 3]


def test_products_and_copies_are_found(recording):
    names = {event.name.lower() for event in recording.events()}
    assert any("gemm" in name or "cublas" in name or "cutlass" in name for name in names)
    table = recording.key_averages().table(sort_by="self_device_time_total", row_limit=-1)
    assert "aten::mm" in table or "aten::addmm" in table or "gemm" in table
