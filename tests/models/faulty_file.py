"""A drive that fails on demand, and a pool that runs its tasks on demand: for tests of the spill store."""

from __future__ import annotations

import errno

import numpy as np


class Killed(BaseException):
    """The process ended here."""


class FaultyFile:
    """A file in memory that takes direct I/O only, with faults at chosen calls.

    ``faults`` maps the number of a call (writes and confirmations are counted) to a kind and a number of bytes that still
    reach the drive: ``kill``, ``short`` (the call says so), or the name of an error of the system.
    """

    def __init__(self, content, granularity, faults=()):
        self.path, self.note, self.granularity = "faulty", None, granularity
        self.data = bytearray(content)
        self.durable = bytearray(content)  # after a loss of power
        self.pending = []  # writes that were not confirmed
        self.faults, self.calls, self.dead = dict(faults), 0, False

    def size(self):
        return len(self.data)

    def _require_aligned(self, data, place):
        address = np.frombuffer(data, np.uint8).ctypes.data if len(data) else 0
        if place % self.granularity or len(data) % self.granularity or address % self.granularity:
            raise OSError(errno.EINVAL, "not whole granules")

    def _put(self, data, place):
        self.data[place : place + len(data)] = data
        if len(data):
            self.pending.append((place, bytes(data)))

    def _fault(self):
        if self.dead:
            raise Killed
        number, self.calls = self.calls, self.calls + 1
        return self.faults.pop(number, (None, None))

    def write(self, data, place):
        self._require_aligned(data, place)
        assert place + len(data) <= len(self.data)
        kind, cut = self._fault()
        cut = len(data) if kind is None else min(cut, len(data))
        self._put(data[:cut], place)
        if kind == "kill":
            self.dead = True
            raise Killed
        if kind not in (None, "short"):
            raise OSError(getattr(errno, kind), kind)
        return cut

    def read(self, data, place):
        self._require_aligned(data, place)
        part = self.data[place : place + len(data)]
        data[: len(part)] = part
        return len(part)

    def sync(self):
        kind, _ = self._fault()
        if kind == "kill":
            self.dead = True
            raise Killed
        if kind in (None, "short"):
            for place, data in self.pending:
                self.durable[place : place + len(data)] = data
        # After a failed confirmation the system holds the pages for clean: nothing writes them again.
        self.pending.clear()
        if kind not in (None, "short"):
            raise OSError(getattr(errno, kind), kind)

    def close(self):
        pass

    def image(self, power, rng):
        """What the file holds after a kill of the process, or after a loss of power: then each sector of a write without
        confirmation is there, or not, or torn."""
        if not power:
            return bytes(self.data)
        data = bytearray(self.durable)
        for place, written in self.pending:
            for at in range(0, len(written), 512):
                part = written[at : at + 512]
                part = part[: rng.choice([0, len(part), int(rng.integers(len(part) + 1))])]
                data[place + at : place + at + len(part)] = part
        return bytes(data)


class ManualPool:
    """Tasks wait until they are run, in any order; their results are told in any order too."""

    def __init__(self, rng):
        self.rng, self.tasks, self.done = rng, [], []

    def submit(self, mark, task):
        self.tasks.append((mark, task))

    def run(self, number):
        mark, task = self.tasks.pop(number % len(self.tasks))
        try:
            self.done.append((mark, task(), None))
        except Exception as error:
            self.done.append((mark, None, error))

    def finished(self, wait):
        if not self.done and self.tasks and wait:
            self.run(int(self.rng.integers(len(self.tasks))))
        return self.done.pop(int(self.rng.integers(len(self.done)))) if self.done else None

    def close(self):
        while self.tasks:
            self.run(0)
