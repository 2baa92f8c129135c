# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""counted.py LIBRARY PROGRESS PACE THREADS: what counted.cpp does, in Python, for `sonde run`."""
import ctypes
import mmap
import sys
import threading
import time


class Site(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_char_p), ("file", ctypes.c_char_p),
                ("line", ctypes.c_uint32), ("id", ctypes.c_uint32)]


def main():
    library, path, pace, threads = sys.argv[1:5]
    sonde = ctypes.CDLL(library)
    sites = [Site(name, b"work", b"counted.py", 1, 0) for name in (b"work", b"inner")]
    work, inner = (ctypes.byref(site) for site in sites)
    with open(path, "r+b") as file:  # the watcher has mapped it, so it must not be truncated
        mapped = mmap.mmap(file.fileno(), 4096)
    # Stored at once. struct.pack_into() clears a number before it writes it, and a kill may come in between.
    progress = (ctypes.c_uint64 * 64).from_buffer(mapped)
    lock = threading.Lock()

    def turns(slot):
        count = 0
        while True:
            began = sonde.sonde_begin(work)
            began_inner = sonde.sonde_begin(inner)
            if began_inner:
                sonde.sonde_end()
            if began:
                sonde.sonde_end()
            count += 1
            progress[slot] = count
            if count == 1:
                with lock:
                    progress[0] += 1
            if pace == "paced" and count % 200 == 0:
                time.sleep(0.0003)
            if pace.isdigit() and count == int(pace):
                return

    workers = [threading.Thread(target=turns, args=(slot + 1,)) for slot in range(int(threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
