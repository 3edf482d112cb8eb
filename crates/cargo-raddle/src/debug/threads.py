"""Shows the virtual threads of a Raddle test to LLDB.

Paused virtual threads are coroutines: a stack and seven saved words on it. The table that the test shares with its debugger says
where they are; `crates/raddle-engine/src/platform/debugger.rs` has the layout.
"""

import os
import struct

import lldb

FIRST_ID = 10_000_000
HEADER, PER_THREAD, NAME = 16, 16, 4
AT_END = 2
# As `switch` in `platform/coroutine.rs` pushes them, from the context upwards.
SAVED = ("r15", "r14", "r13", "r12", "rbx", "rbp", "rip")
NAMES = (
    "rax", "rbx", "rcx", "rdx", "rdi", "rsi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip",
)
# Numbers of the registers in DWARF.
DWARF = {
    "rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7, "r8": 8, "r9": 9, "r10": 10,
    "r11": 11, "r12": 12, "r13": 13, "r14": 14, "r15": 15, "rip": 16,
}
GENERIC = {"rip": "pc", "rsp": "sp", "rbp": "fp"}


class OperatingSystemPlugIn:
    def __init__(self, process):
        self.process = process
        self.table = os.environ["RADDLE_DEBUGGER"]
        self.contexts = {}

    def get_register_info(self):
        registers = []
        for index, name in enumerate(NAMES):
            register = {
                "name": name, "bitsize": 64, "offset": index * 8, "encoding": "uint", "format": "hex", "set": 0,
                "gcc": DWARF[name], "dwarf": DWARF[name],
            }
            if name in GENERIC:
                register["generic"] = GENERIC[name]
            registers.append(register)
        return {"sets": ["GPR"], "registers": registers}

    def get_thread_info(self):
        with open(self.table, "rb") as file:
            table = file.read()
        words = struct.unpack("<%dQ" % (len(table) // 8), table)
        standing, current, count, explorer = words[6:10]
        if current == 0:
            return []
        error = lldb.SBError()
        current = self.process.ReadUnsignedFromMemory(current, 2, error)
        threads = []
        self.contexts = {}
        for number in range(count):
            at = HEADER + number * PER_THREAD
            context, _, ended, length = words[at:at + 4]
            name = table[(at + NAME) * 8:][:length].decode("utf-8", "replace")
            thread = {
                "tid": FIRST_ID + number,
                "name": ("T%d %s" % (number, name)).strip(),
                "state": "stopped",
                "stop_reason": "none",
            }
            if number == current and standing != AT_END:
                thread["core"] = self.core(explorer)
            elif ended:
                continue
            else:
                self.contexts[FIRST_ID + number] = context
            threads.append(thread)
        return threads

    def core(self, tid):
        """The position of an OS thread in LLDB's list, which has them in the order of their creation."""
        tids = sorted(int(name) for name in os.listdir("/proc/%d/task" % self.process.GetProcessID()))
        return tids.index(tid)

    def get_register_data(self, tid):
        error = lldb.SBError()
        context = self.process.ReadPointerFromMemory(self.contexts[tid], error)
        saved = self.process.ReadMemory(context, 8 * len(SAVED), error)
        if error.Fail():
            return None
        registers = dict(zip(SAVED, struct.unpack("<7Q", saved)))
        registers["rsp"] = context + 8 * len(SAVED)
        return struct.pack("<%dQ" % len(NAMES), *(registers.get(name, 0) for name in NAMES))
