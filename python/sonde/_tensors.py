# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tensors are for. Modules and optimizers show it while a profiler records memory and the inputs of operators: parameters and
gradients when a module is called or an optimizer steps, and the state of the optimizer."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any, List

from sonde import _native
from sonde._calls import _Switch
from sonde._tracing import is_traced

_PARAMETER, _GRADIENT, _STATE = 1, 2, 3


def _tell(tensor: Any, purpose: int, name: str) -> None:
    try:
        # Without a storage: sparse tensors, lazy parameters, and whatever only looks like a tensor.
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor._storage()
        _native.tensor_role(storage.data_ptr(), purpose, name)
    except Exception:
        pass


def _tell_parameter(parameter: Any, name: str) -> None:
    _tell(parameter, _PARAMETER, name)
    gradient = parameter.grad
    if gradient is not None:
        _tell(gradient, _GRADIENT, name)


def _has_compiled() -> bool:
    """Whether torch.compile has made graphs in this process."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return bool(counters.get("frames"))


class _Tensors(_Switch):
    def __init__(self) -> None:
        super().__init__()
        self._handles: List[Any] = []
        self._hears_optimizers = False
        self._recording = 0
        self._modules: "weakref.WeakSet[Any]" = weakref.WeakSet()
        # How many tensors an optimizer had state for when it was last recorded.
        self._optimizers: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()

    def _is_recorded(self) -> bool:
        """Every recording gets everything."""
        number = _native.recording_number()
        if number != self._recording:
            self._recording = number
            self._modules.clear()
            self._optimizers.clear()
        return number != 0

    def _begin(self) -> None:
        modules = sys.modules.get("torch.nn.modules.module")
        if modules is None:
            return
        if _has_compiled():
            # A hook for all modules would make torch.compile compile its graphs again.
            for found in gc.get_objects():
                if issubclass(type(found), modules.Module):
                    self._module(found, None)
        else:
            self._handles = [modules.register_module_forward_pre_hook(self._module)]
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
        self._hears_optimizers = register is not None
        if register is not None:
            self._handles.append(register(self._optimizer))

    def _end(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def before_end(self) -> None:
        """What nobody told: gradients of modules without a hook, and, in torch 1, the states of optimizers."""
        if _has_compiled():
            for module in list(self._modules):
                self._tell_parameters(module)
        of_torch = sys.modules.get("torch.optim.optimizer")
        if self._hears_optimizers or of_torch is None or not self._handles:
            return
        for found in gc.get_objects():
            if issubclass(type(found), of_torch.Optimizer):
                self._optimizer(found)

    def _module(self, module: Any, inputs: Any) -> None:
        if is_traced() or not self._is_recorded():
            return
        try:
            if module not in self._modules:
                self._modules.add(module)
                self._tell_parameters(module)
        except TypeError:
            self._tell_parameters(module)  # one that cannot be in a set

    @staticmethod
    def _tell_parameters(module: Any) -> None:
        # torch.compile keeps the module, whose own parts it does not call.
        compiled = module.__dict__.get("_modules", {}).get("_orig_mod")
        try:
            parameters = list(module._parameters.items() if compiled is None else compiled.named_parameters())
        except Exception:
            return  # a module whose __init__ did not finish has none
        for name, parameter in parameters:
            if parameter is not None:
                _tell_parameter(parameter, name)

    def _optimizer(self, optimizer: Any, args: Any = None, kwargs: Any = None) -> None:
        if is_traced() or not self._is_recorded():
            return
        # An optimizer whose __init__ did not finish has no state.
        state = getattr(optimizer, "state", {})
        if self._optimizers.get(optimizer) == len(state):
            return
        self._optimizers[optimizer] = len(state)
        for group in getattr(optimizer, "param_groups", ()):
            for parameter in group["params"]:
                _tell_parameter(parameter, "")
        for values in state.values():
            for name, value in values.items() if isinstance(values, dict) else ():
                if isinstance(value, sys.modules["torch"].Tensor):
                    _tell(value, _STATE, str(name))


_tensors = _Tensors()


def follow_tensors(profiler: Any, is_recording: bool) -> None:
    _tensors.turn(profiler, is_recording)


def finish_tensors() -> None:
    """Before a recording ends."""
    _tensors.before_end()
