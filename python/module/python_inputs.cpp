// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_inputs.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "sonde/source/op.h"
#include "sonde/source/op_inputs.h"

namespace sonde::python {
namespace {

constexpr std::size_t kMostDims = 64;

// What torch's C++ calls its types.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kTypes = {{
    {"torch.float32", "float"},
    {"torch.float64", "double"},
    {"torch.float16", "c10::Half"},
    {"torch.bfloat16", "c10::BFloat16"},
    {"torch.int64", "long int"},
    {"torch.int32", "int"},
    {"torch.int16", "short int"},
    {"torch.int8", "signed char"},
    {"torch.uint8", "unsigned char"},
    {"torch.bool", "bool"},
    {"torch.complex64", "c10::complex<float>"},
    {"torch.complex128", "c10::complex<double>"},
}};

std::string text_of(PyObject* object) {
  const Ref shown(PyObject_Str(object));
  const char* const found = shown ? PyUnicode_AsUTF8AndSize(shown.get(), nullptr) : nullptr;
  if (found == nullptr) PyErr_Clear();
  return found != nullptr ? found : "";
}

bool numbers(const Ref& sequence, std::vector<std::int64_t>& out) {
  const Py_ssize_t count = sequence ? PySequence_Size(sequence.get()) : -1;
  if (count < 0 || static_cast<std::size_t>(count) > kMostDims) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence.get(), i));
    out.push_back(item ? PyLong_AsLongLong(item.get()) : -1);
    if (PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

bool add_tensor(OpInputs& out, PyObject* tensor) {
  const Ref dtype(PyObject_GetAttrString(tensor, "dtype"));
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  if (!dtype || !numbers(Ref(PyObject_GetAttrString(tensor, "shape")), sizes)) return false;
  if (!numbers(Ref(PyObject_CallMethod(tensor, "stride", nullptr)), strides)) strides.clear();
  PyErr_Clear();
  std::string type = text_of(dtype.get());
  for (const auto& [python, cpp] : kTypes) {
    if (type == python) type = cpp;
  }
  out.tensor(sonde_name(type.data(), type.size()), sizes.data(), sizes.size(), strides.data(),
             strides.size());
  return true;
}

void add_input(OpInputs& out, PyObject* value) {
  if (PyBool_Check(value) || PyLong_Check(value) || PyFloat_Check(value))
    return out.scalar(text_of(value));
  if (PyUnicode_Check(value)) return out.string(text_of(value));
  if (!add_tensor(out, value)) {
    PyErr_Clear();
    out.none();
  }
}

// JSON of a list of texts; empty if it is something else.
std::string json_of_texts(PyObject* value) {
  if (PyList_Check(value) == 0 && PyTuple_Check(value) == 0) return "";
  std::string json = "[";
  for (Py_ssize_t i = 0; i < PySequence_Size(value); ++i) {
    const Ref item(PySequence_GetItem(value, i));
    if (!item || !PyUnicode_Check(item.get())) return "";
    if (i > 0) json += ", ";
    json += json_string(text_of(item.get()));
  }
  return json + "]";
}

void add_keyword(OpInputs& out, PyObject* key, PyObject* value) {
  if (!PyUnicode_Check(key)) return;
  const std::string name = text_of(key);
  if (PyBool_Check(value)) {
    out.keyword(name, value == Py_True ? "true" : "false");
  } else if (PyLong_Check(value) || PyFloat_Check(value) || PyUnicode_Check(value)) {
    out.keyword(name, text_of(value));
  } else if (const std::string json = json_of_texts(value); !json.empty()) {
    out.keyword(name, json);
  }
}

}  // namespace

void record_python_inputs(PyObject* inputs, PyObject* keywords) {
  OpInputs out;
  if (PyList_Check(inputs) || PyTuple_Check(inputs)) {
    for (Py_ssize_t i = 0; i < PySequence_Size(inputs); ++i) {
      const Ref item(PySequence_GetItem(inputs, i));
      if (item) add_input(out, item.get());
    }
  }
  if (PyDict_Check(keywords)) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, &key, &value) != 0;)
      add_keyword(out, key, value);
  }
  PyErr_Clear();
  if (!out.empty()) sonde_op_inputs(out.words(), out.word_count());
}

}  // namespace sonde::python
