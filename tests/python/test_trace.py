# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files, tables and answers."""

import json
import pickle
import subprocess
import sys
import threading

import arrow_reader
import pytest
from conftest import TRANSFORMER

import sonde


def test_opens_what_torch_exported(transformer):
    assert len(transformer.spans) > 100
    assert transformer.last_ns > transformer.first_ns
    assert "spans" in transformer.tables and "spans" in dir(transformer)


def test_says_which_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.sonde"):
        sonde.open(tmp_path / "none.sonde")


def test_says_what_is_no_trace(tmp_path):
    (tmp_path / "text.sonde").write_text("no trace at all")
    with pytest.raises(ValueError, match="text.sonde: not a trace"):
        sonde.open(tmp_path / "text.sonde")


def test_refuses_tables_columns_and_rows_that_are_none(transformer):
    with pytest.raises(AttributeError, match="nothing"):
        transformer.nothing
    with pytest.raises(KeyError):
        transformer.spans["nothing"]
    with pytest.raises(IndexError):
        transformer.spans["name"][len(transformer.spans)]


def test_rows_have_texts_and_none(transformer):
    row = transformer.spans.row(0)
    assert isinstance(row["name"], str) and isinstance(row["kind"], str)
    assert row["parent"] is None
    assert transformer.spans.row(-1) == transformer.spans.row(len(transformer.spans) - 1)


def test_columns_are_buffers_in_place(transformer):
    column = transformer.spans["duration_ns"]
    view = memoryview(column)
    assert (view.format, view.itemsize, view.readonly, view.shape) == ("q", 8, True, (len(column),))
    assert view[5] == column[5]
    assert view.obj is column and memoryview(transformer.spans["duration_ns"]) == view


def test_a_column_without_values_repeats_its_null(transformer):
    empty = next(name for name in transformer.spans if memoryview(transformer.spans[name]).strides == (0,))
    view = memoryview(transformer.spans[empty])
    assert view.shape == (len(transformer.spans),) and view[0] == view[len(view) - 1]
    assert len(view.tobytes()) == view.nbytes


def test_a_buffer_outlives_its_trace():
    view = memoryview(sonde.open(TRANSFORMER).spans["duration_ns"])
    first = view[0]
    assert sonde.open(TRANSFORMER).spans["duration_ns"][0] == first == view[0]


@pytest.mark.parametrize("name", ["spans", "kernels", "tracks", "frames", "ledger", "allocations"])
def test_arrow_has_every_value(transformer, name):
    table = getattr(transformer, name)
    read = arrow_reader.read(table)
    assert list(read) == table.columns
    for column, (values, _) in read.items():
        assert values == list(table[column]), column


def test_arrow_copies_no_values(transformer):
    numpy = pytest.importorskip("numpy")
    _, address = arrow_reader.read(transformer.spans)["start_ns"]
    assert numpy.asarray(transformer.spans["start_ns"]).ctypes.data == address


def test_answers_are_those_of_the_program(transformer, recorded):
    report = transformer.report()
    assert report["findings"] and str(report).startswith(str(TRANSFORMER))
    assert "Name" in transformer.table(row_limit=3)
    assert transformer.graphs()
    assert "peak" in str(transformer.memory())
    with pytest.raises(ValueError, match="--memory"):
        recorded.trace().memory()


def test_simulations_are_those_of_the_program(transformer):
    path = transformer.critical_path(row_limit=3)
    assert 0 < sum(entry["time_ns"] for entry in path["entries"]) <= path["length_ns"] and "On which thread" in str(path)
    halved = transformer.what_if(scale={"aten::addmm": 0.5}, remove=["aten::relu*"])
    assert [match["pattern"] for match in halved["matches"]] == ["aten::addmm", "aten::relu*"]
    assert 0 < halved["simulated_ns"] <= halved["recorded_ns"] and "simulated" in str(halved)
    with pytest.raises(ValueError, match="FACTOR"):
        transformer.what_if(scale={"aten::mm": -1})
    with pytest.raises(ValueError, match="say what to change"):
        transformer.what_if()


def test_the_table_is_pytorchs(transformer):
    text = transformer.key_averages().table(sort_by="self_cuda_time_total", row_limit=5)
    lines = text.splitlines()
    assert "Self CUDA %" in lines[1] and lines[-1].startswith("Self CUDA time total:")
    assert len([line for line in lines if line.startswith("-")]) == 3


def test_an_unknown_sort_key_is_an_attribute_error_as_in_pytorch(transformer):
    with pytest.raises(AttributeError, match="nothing"):
        transformer.key_averages().table(sort_by="nothing")


def test_threads_may_look_at_one_list_at_once():
    for _ in range(20):
        events = sonde.open(TRANSFORMER).events()
        found = []
        threads = [threading.Thread(target=lambda: found.append((len(events), events[0], events._use_device))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4 and len(set(found)) == 1


def test_events_are_made_once_and_know_each_other(transformer):
    events = transformer.events()
    child = next(event for event in events if event.cpu_parent is not None)
    assert child in child.cpu_parent.cpu_children
    assert any(one is child for one in child.cpu_parent.cpu_children)
    launcher = next(event for event in events if event.kernels)
    assert launcher.kernels[0].duration > 0 and launcher.device_time_total > 0


def test_arguments_are_those_of_the_file(transformer):
    loss = next(event for event in transformer.events() if event.name == "aten::cross_entropy_loss")
    assert loss.concrete_inputs[:3] == [None, None, None] and loss.concrete_inputs[3:5] == [1, -100]
    assert loss.input_dtypes[:2] == ["float", "long int"]


def test_a_list_is_a_list(transformer):
    events = transformer.events()
    assert isinstance(events, list) and len(events) == len(list(events)) == len(sorted(events, key=lambda e: e.name))
    assert events[-1] is events[len(events) - 1] and len(events[2:5]) == 3
    assert [event.name for event in events[-1:1:-2]] == [event.name for event in list(events)[-1:1:-2]]
    assert len([] + events) == len(events) and events[0] in events
    averages = transformer.key_averages()
    averages.sort(key=lambda row: row.count, reverse=True)
    assert averages[0].count >= averages[-1].count
    assert "aten::" in averages.table()


def test_events_can_be_changed_and_pickled(transformer):
    event = transformer.events()[3]
    event.note = "mine"
    name = event.name
    copy = pickle.loads(pickle.dumps(transformer.key_averages()[0]))
    assert copy.key == transformer.key_averages()[0].key and event.note == "mine" and event.name == name


def test_exports_by_suffix(transformer, tmp_path):
    for name in ("out.json", "out.json.gz", "out.pftrace", "out.csv", "out.sonde", "out.stacks"):
        transformer.export(tmp_path / name)
        assert (tmp_path / name).stat().st_size >= 0
    assert json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    assert len(sonde.open(tmp_path / "out.sonde").spans) == len(transformer.spans)
    with pytest.raises(ValueError, match="suffix"):
        transformer.export(tmp_path / "out.doc")
    transformer.export_report(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()


def test_writes_the_page_of_the_viewer(transformer, tmp_path):
    transformer.export_page(tmp_path / "page.html", at="view=memory")
    page = (tmp_path / "page.html").read_text()
    assert "<html" in page and "http://" not in page.split("<script", 1)[0]
    assert len(page) > 100_000
    with pytest.raises(ValueError, match="html"):
        transformer.export_page(tmp_path / "page.pdf")


def test_does_not_write_over_the_trace_that_it_reads(tmp_path):
    path = tmp_path / "own.json.gz"
    path.write_bytes(TRANSFORMER.read_bytes())
    with pytest.raises(ValueError, match="own.json.gz"):
        sonde.open(path).export(path)


def test_objects_of_the_module_cannot_be_made_by_hand():
    for kind in ("Trace", "Table", "Column", "Events", "Profiler", "Range"):
        with pytest.raises(TypeError):
            getattr(sonde._native, kind)()


def test_shows_itself_in_notebooks(transformer):
    assert "<table>" in transformer.spans._repr_html_()
    assert "Self CPU" in transformer._repr_html_()


def test_imports_without_torch():
    code = "import sys, sonde, sonde.profiler, sonde.autograd.profiler, sonde.cuda.profiler; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_events_of_memory_have_pytorchs_names():
    from sonde.autograd import profiler_util
    assert (profiler_util.MEMORY_EVENT_NAME, profiler_util.OUT_OF_MEMORY_EVENT_NAME) == ("[memory]", "[OutOfMemory]")
