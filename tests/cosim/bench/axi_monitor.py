"""Monitor of the rules of AXI4 and AXI4-Lite, for the values of a bus in every clock."""

from collections import deque

#: Channels with the way of their payload, and members that make up the payload.
CHANNELS = {
    "aw": ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos"),
    "w": ("data", "strb", "last"),
    "b": ("id", "resp"),
    "ar": ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos"),
    "r": ("id", "data", "resp", "last"),
}


class AxiMonitor:
    """Checks one bus, and lists each violation in ``violations``.

    Parameters
    ----------
    word_bytes : bytes of a word
    burst, outstanding : most beats of a burst, most bursts under way of each kind
    lite : whether the bus is AXI4-Lite
    """

    def __init__(self, word_bytes, burst=1, outstanding=256, *, lite=False):
        self.word_bytes, self.burst, self.outstanding, self.lite = word_bytes, burst, outstanding, lite
        self.violations: list[str] = []
        self.moved = dict.fromkeys(CHANNELS, 0)
        self.stalled = dict.fromkeys(CHANNELS, 0)
        self.most = {"aw": 0, "ar": 0}
        self.clock = 0
        self._before: dict[str, tuple] = {}
        self._lengths = {"aw": deque(), "ar": deque()}  # bursts whose words are not complete
        self._words = {"w": 0, "r": 0}  # words of W that no accepted address has; of the burst on R
        self._ends: deque = deque()  # lengths of bursts by W, whose address has not come
        self._answers = 0  # writes with address and words that B has not answered
        self._open = {"aw": 0, "ar": 0}

    def _wrong(self, text):
        self.violations.append(f"clock {self.clock}: {text}")

    def step(self, values):
        """Take the values of one clock: names of members without prefix, such as ``arvalid``, to integers."""
        moved = set()
        for name, members in CHANNELS.items():
            valid, ready = values[f"{name}valid"], values[f"{name}ready"]
            now = tuple(values.get(f"{name}{member}", 0) for member in members)
            if name in self._before:
                if not valid:
                    self._wrong(f"{name} was withdrawn")
                elif now != self._before[name]:
                    self._wrong(f"{name} changed while it was stalled")
            self._before.pop(name, None)
            if valid and not ready:
                self._before[name] = now
                self.stalled[name] += 1
            if valid and ready:
                moved.add(name)
                self.moved[name] += 1
        # Answers first: an answer in the clock of its request comes too early.
        if "b" in moved:
            if not self._answers:
                self._wrong("B answers no write")
            self._answers -= 1
            self._open["aw"] -= 1
        if "r" in moved:
            self._read_word(values)
        for name in ("aw", "ar"):
            if name in moved:
                self._address(name, values)
        if "w" in moved:
            self._words["w"] += 1
            if values.get("wlast", 1):
                self._ends.append(self._words["w"])
                self._words["w"] = 0
        while self._ends and self._lengths["aw"]:
            count, length = self._ends.popleft(), self._lengths["aw"].popleft()
            if count != length:
                self._wrong(f"a burst has {count} words, and its address says {length}")
            self._answers += 1
        if self._lengths["aw"] and self._words["w"] > self._lengths["aw"][0]:
            self._wrong("a burst has words without an end")
        self.clock += 1

    def _address(self, name, values):
        length = values.get(f"{name}len", 0) + 1
        address = values[f"{name}addr"]
        if not self.lite:
            if 1 << values[f"{name}size"] != self.word_bytes or values[f"{name}burst"] != 1:
                self._wrong(f"{name} has a burst of another kind")
            if address % 4096 + length * self.word_bytes > 4096:
                self._wrong(f"{name} has a burst of {length} words at {address:#x}, across 4 KiB")
            if length > self.burst:
                self._wrong(f"{name} has a burst of {length} words")
        self._lengths[name].append(length)
        self._open[name] += 1
        self.most[name] = max(self.most[name], self._open[name])
        if self._open[name] > self.outstanding:
            self._wrong(f"{name} has {self._open[name]} bursts under way")

    def _read_word(self, values):
        if not self._lengths["ar"]:
            self._wrong("R answers no read")
            return
        self._words["r"] += 1
        last = values.get("rlast", 1)
        if last != (self._words["r"] == self._lengths["ar"][0]):
            self._wrong("rlast is not at the last word")
        if last:
            self._lengths["ar"].popleft()
            self._words["r"] = 0
            self._open["ar"] -= 1
