# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a made job is like: its ranks, its faults, its files, and the truth."""

from dataclasses import dataclass, field
from typing import Callable

MS = 1e6
US = 1e3
EPOCH_NS = 1_790_000_000_000_000_000


@dataclass
class Fault:
    """What `rank` does longer in steps that `when` accepts."""

    rank: int
    kind: str  # load, gc, unmarked, kernel, kernels, extra, copy, operator, save, compile, host
    ns: float = 20 * MS
    when: Callable[[int], bool] = lambda step: True
    factor: float = 2.0


@dataclass
class Case:
    name: str
    tp: int = 1
    dp: int = 8
    pp: int = 1
    steps: int = 8
    layers: int = 2
    microbatches: int = 1
    per_host: int = 8
    offset_ns: float = 50 * MS
    drift_ppm: float = 50
    jitter: float = 0.02  # of durations, relative
    host_jitter_ns: float = 100 * US
    work: float = 1.0  # how long kernels are; small: the host is what takes the time
    imbalance: float = 0.0  # how much the work of a rank differs from step to step, relative
    slow_network: tuple = ()  # collectives of these ranks take ten times as long
    tail: float = 0.0  # share of kernels that take 3 ms longer, anywhere
    end_lag_ns: float = 0  # of each rank, always, exponential
    overlap: bool = True  # gradients are reduced while the backward pass runs
    sync: bool = True  # a step ends with waiting for the device
    stage_work: tuple = ()  # relative work of the stages
    faults: list = field(default_factory=list)
    # Of the files:
    names_hosts: bool = False
    has_steps: bool = True
    has_info: bool = True
    has_groups: bool = True
    has_seq: bool = False
    missing: tuple = ()
    late_start: dict = field(default_factory=dict)  # rank: share of the time that is not recorded
    hang: int = -1  # this rank never arrives at the last collective
    group_prefix: str = ""
    gz: bool = False
    sonde_every: int = 0  # every n-th rank as a .sonde file
    # The truth:
    culprits: tuple = ()  # any of these ranks may be named first; empty: nobody
    causes: tuple = ()
    names: tuple = ()
    cost: bool = True  # whether the cost of a step is checked
    expect_error: str = ""
    may_be_silent: bool = False  # nobody may be named as well
    is_joined: bool = True  # whether collectives can join all ranks
