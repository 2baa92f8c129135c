// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tables of a trace and their columns, which numpy and others read in place.

#include <array>
#include <cstring>
#include <memory>

#include "arrow.h"
#include "columns.h"
#include "types.h"

namespace sonde::python {
namespace {

struct ColumnOf {
  std::shared_ptr<const TableView> table;
  const ColumnView* view = nullptr;
  Py_ssize_t shape = 0;
  Py_ssize_t stride = 0;
};

PyTypeObject* table_type = nullptr;
PyTypeObject* column_type = nullptr;

const TableView& table_of(PyObject* self) {
  return *value_of<std::shared_ptr<const TableView>>(self);
}

PyObject* item_of(const ColumnOf& column, std::size_t row) {
  const ColumnView& view = *column.view;
  const std::uint64_t bits = view.bits_at(row);
  if (view.has_nulls() && bits == view.null_value) return none();
  switch (view.type) {
    case ColumnType::String:
      return text(column.table->trace.string(StringId(static_cast<std::uint32_t>(bits))));
    case ColumnType::Enum:
      return text(view.enum_text(static_cast<std::uint8_t>(bits)));
    case ColumnType::F64: {
      double value = 0;
      std::memcpy(&value, &bits, sizeof(value));
      return PyFloat_FromDouble(value);
    }
    case ColumnType::I8:
    case ColumnType::I16:
    case ColumnType::I32:
    case ColumnType::I64:
      return PyLong_FromLongLong(static_cast<std::int64_t>(bits));
    default:
      return PyLong_FromUnsignedLongLong(bits);
  }
}

Py_ssize_t column_length(PyObject* self) {
  return static_cast<Py_ssize_t>(value_of<ColumnOf>(self).view->size);
}

PyObject* column_item(PyObject* self, Py_ssize_t index) {
  if (index < 0 || index >= column_length(self)) {
    PyErr_SetString(PyExc_IndexError, "row out of range");
    return nullptr;
  }
  return item_of(value_of<ColumnOf>(self), static_cast<std::size_t>(index));
}

PyObject* column_name(PyObject* self, void*) {
  return text(value_of<ColumnOf>(self).view->name);
}

constexpr std::array<const char*, 12> kItemFormats = {"b", "h", "i", "q", "B", "H",
                                                      "I", "Q", "d", "I", "I", "B"};

PyObject* column_format(PyObject* self, void*) {
  return text(kItemFormats[static_cast<std::size_t>(value_of<ColumnOf>(self).view->type)]);
}

// A column without values is one value that is repeated by a stride of 0.
int column_buffer(PyObject* self, Py_buffer* out, int flags) {
  auto& column = value_of<ColumnOf>(self);
  const ColumnView& view = *column.view;
  out->obj = nullptr;
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "a trace never changes: its columns are read-only");
    return -1;
  }
  const bool is_repeated = view.data == nullptr && view.size > 1;
  if (is_repeated && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
    PyErr_SetString(PyExc_BufferError,
                    "this column has no value of its own, so it needs a reader that knows strides");
    return -1;
  }
  const void* const data = view.data != nullptr ? view.data : &view.null_value;
  out->buf = const_cast<void*>(data);
  out->len = static_cast<Py_ssize_t>(view.size * view.item_bytes);
  out->itemsize = static_cast<Py_ssize_t>(view.item_bytes);
  out->readonly = 1;
  out->ndim = 1;
  const char* const format = kItemFormats[static_cast<std::size_t>(view.type)];
  out->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  out->shape = (flags & PyBUF_ND) != 0 ? &column.shape : nullptr;
  out->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &column.stride : nullptr;
  out->suboffsets = nullptr;
  out->internal = nullptr;
  Py_INCREF(self);
  out->obj = self;
  return 0;
}

Py_ssize_t table_length(PyObject* self) {
  return static_cast<Py_ssize_t>(table_of(self).size);
}

PyObject* new_column(PyObject* table, const ColumnView& view) {
  const bool is_repeated = view.data == nullptr;
  return hold(column_type, ColumnOf{value_of<std::shared_ptr<const TableView>>(table), &view,
                                    static_cast<Py_ssize_t>(view.size),
                                    is_repeated ? 0 : static_cast<Py_ssize_t>(view.item_bytes)});
}

PyObject* table_column(PyObject* self, PyObject* key) {
  Py_ssize_t bytes = 0;
  const char* const name = PyUnicode_AsUTF8AndSize(key, &bytes);
  if (name == nullptr) return nullptr;
  const ColumnView* const view =
      table_of(self).find(std::string_view(name, static_cast<std::size_t>(bytes)));
  if (view != nullptr) return new_column(self, *view);
  PyErr_SetObject(PyExc_KeyError, key);
  return nullptr;
}

PyObject* table_name(PyObject* self, void*) {
  return text(table_of(self).name);
}

PyObject* table_columns(PyObject* self, void*) {
  std::vector<std::string> names;
  for (const ColumnView& column : table_of(self).columns) names.emplace_back(column.name);
  return texts(names);
}

constexpr const char* kStreamName = "arrow_array_stream";

void free_stream(PyObject* capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kStreamName));
  if (stream == nullptr) return;
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

// The protocol allows producers that cannot cast to ignore a requested schema.
PyObject* table_arrow(PyObject* self, PyObject* /*args*/, PyObject* /*kwargs*/) {
  ArrowArrayStream* const stream =
      make_arrow_stream(value_of<std::shared_ptr<const TableView>>(self));
  PyObject* const capsule = PyCapsule_New(stream, kStreamName, free_stream);
  if (capsule == nullptr) {
    stream->release(stream);
    delete stream;
  }
  return capsule;
}

PyGetSetDef column_getset[] = {{"name", column_name, nullptr, "The name of the column.", nullptr},
                               {"format", column_format, nullptr,
                                "The type of a value, as the module struct names it.", nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot column_slots[] = {
    {Py_tp_doc, const_cast<char*>("A column of a table: a sequence, and a read-only buffer.")},
    {Py_tp_dealloc, slot(free_holder<ColumnOf>)},
    {Py_tp_getset, column_getset},
    {Py_sq_length, slot(column_length)},
    {Py_sq_item, slot(column_item)},
    {Py_bf_getbuffer, slot(column_buffer)},
    {0, nullptr}};

PyMethodDef table_methods[] = {
    {"column", table_column, METH_O, "column(name): a column of the table."},
    {"__arrow_c_stream__", method(table_arrow), METH_VARARGS | METH_KEYWORDS,
     "The table as a stream of Arrow's, without copying its values."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef table_getset[] = {
    {"name", table_name, nullptr, "The name of the table.", nullptr},
    {"columns", table_columns, nullptr, "The names of its columns.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot table_slots[] = {{Py_tp_doc, const_cast<char*>("A table of a trace.")},
                             {Py_tp_dealloc, slot(free_holder<std::shared_ptr<const TableView>>)},
                             {Py_tp_methods, table_methods},
                             {Py_tp_getset, table_getset},
                             {Py_sq_length, slot(table_length)},
                             {0, nullptr}};

}  // namespace

bool add_table_types(PyObject* module) {
  column_type = make_type(module, "sonde._native.Column", sizeof(Holder<ColumnOf>), column_slots);
  table_type = make_type(module, "sonde._native.Table",
                         sizeof(Holder<std::shared_ptr<const TableView>>), table_slots);
  return column_type != nullptr && table_type != nullptr;
}

PyObject* new_table(const Trace& trace, const char* name) {
  std::shared_ptr<const TableView> view = table_view(trace, name);
  if (view != nullptr) return hold(table_type, std::move(view));
  PyErr_Format(PyExc_KeyError, "a trace has no table '%s'", name);
  return nullptr;
}

}  // namespace sonde::python
