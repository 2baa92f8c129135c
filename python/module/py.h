// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CPython's limited API, with a few helpers. The module is built once and works with every
// interpreter from 3.9 on: docs/decisions/0021-python-binding.md. The buffer protocol is in the
// limited API only from 3.11 on, but it has been the same since before 3.9. Nothing else newer than
// 3.9 is used.

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sonde/result.h"

namespace sonde::python {

// A reference that is released at the end of its life. Empty if an exception is set.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  ~Ref() { Py_XDECREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;

  explicit operator bool() const { return object_ != nullptr; }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

inline PyObject* none() {
  Py_INCREF(Py_None);
  return Py_None;
}
inline PyObject* boolean(bool value) {
  return PyBool_FromLong(value ? 1 : 0);
}
// Bytes that are not UTF-8 are replaced, because names may contain any bytes.
inline PyObject* text(std::string_view value) {
  return PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace");
}
inline PyObject* texts(const std::vector<std::string>& values) {
  Ref list(PyList_New(static_cast<Py_ssize_t>(values.size())));
  if (!list) return nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* const item = text(values[i]);
    if (item == nullptr || PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), item) != 0)
      return nullptr;
  }
  return list.release();
}
// The opposite; false if an exception is set.
inline bool copy_texts(PyObject* list, std::vector<std::string>& out) {
  out.clear();
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const char* const item = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), nullptr);
    if (item == nullptr) return false;
    out.emplace_back(item);
  }
  return true;
}

// Sets the exception for an error and returns null.
inline PyObject* raise(const Error& error) {
  PyObject* kind = PyExc_RuntimeError;
  if (error.code == ErrorCode::Invalid) kind = PyExc_ValueError;
  if (error.code == ErrorCode::NotFound) kind = PyExc_FileNotFoundError;
  if (error.code == ErrorCode::Io) kind = PyExc_OSError;
  const Ref message(text(error.message));
  if (message) PyErr_SetObject(kind, message.get());
  return nullptr;
}

// While this lives, other Python threads may run, and no Python object may be touched.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() { PyEval_RestoreThread(state_); }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

// The opposite, in a callback from C++.
class WithLock {
 public:
  WithLock() : state_(PyGILState_Ensure()) {}
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// A Python object that owns a C++ value.
template <typename T>
struct Holder {
  PyObject_HEAD T* value;
};

template <typename T>
T& value_of(PyObject* self) {
  return *reinterpret_cast<Holder<T>*>(self)->value;
}

template <typename T>
void free_holder(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  delete reinterpret_cast<Holder<T>*>(self)->value;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

template <typename T>
PyObject* hold(PyTypeObject* type, T value) {
  auto* const allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* const self = allocate(type, 0);
  if (self == nullptr) return nullptr;
  reinterpret_cast<Holder<T>*>(self)->value = new T(std::move(value));
  return self;
}

template <typename Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}
template <typename Function>
PyCFunction method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// A type that cannot be constructed by calling it; null if an exception is set.
PyTypeObject* make_type(PyObject* module, const char* name, int bytes, PyType_Slot* slots);

}  // namespace sonde::python
