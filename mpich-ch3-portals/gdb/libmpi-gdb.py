# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# libmpi-gdb.py - MPI's message queues in gdb: in a process or a core file, whether libmpi has debugging information or not
#
#	(gdb) source libmpi-gdb.py
#	(gdb) mpi queues	posted receives and unexpected messages, in their order
#
# Where they are is told by MPIDI_PTL_debug in libmpi (src/ch3_debug.c). Only memory is read. Messages that Portals has not
# handed over yet are not among them: "ptl eq" of libportals-gdb.py shows those.
import struct

import gdb

FIELDS = ("next tag rank context tag_mask rank_mask comm buf count data_sz handle comm_name comm_context").split()
SHOWN = 10000


def read(address, fmt):
    return struct.unpack("<" + fmt, gdb.selected_inferior().read_memory(address, struct.calcsize("<" + fmt)).tobytes())


class Layout:
    def __init__(self):
        try:
            base = int(gdb.parse_and_eval("(unsigned long) &MPIDI_PTL_debug"))
        except gdb.error:
            raise gdb.GdbError("no MPIDI_PTL_debug: this is no program of MPI over Portals, or libmpi is not loaded yet")
        version, words = read(base, "II")
        if version != 1:
            raise gdb.GdbError("libmpi is of another version (%d) than libmpi-gdb.py (1)" % version)
        self.heads = [read(read(p, "Q")[0], "Q")[0] for p in read(base + 8, "QQ")]
        self.off = dict(zip(FIELDS, read(base + 24, "%dI" % words)))

    def get(self, request, field, fmt):
        return read(request + self.off[field], fmt)[0]


def communicator(lay, request):
    """Its name, or the context of a message that no communicator of this rank has claimed."""
    comm = lay.get(request, "comm", "Q")
    context = "context %d" % lay.get(request, "context", "H")
    if not comm:
        return context
    try:
        name = gdb.selected_inferior().read_memory(comm + lay.off["comm_name"], 64).tobytes().split(b"\0")[0].decode()
    except gdb.MemoryError:
        name = ""
    return name or context


def line(lay, request, posted):
    tag, rank = lay.get(request, "tag", "i"), lay.get(request, "rank", "h")
    if posted:
        tag = tag if lay.get(request, "tag_mask", "I") else "any"
        rank = rank if lay.get(request, "rank_mask", "H") else "any"
        rest = "%d items at 0x%x" % (lay.get(request, "count", "q"), lay.get(request, "buf", "Q"))
    else:
        rest = "%d bytes" % lay.get(request, "data_sz", "q")
    return "  %s: source %s, tag %s, %s (request 0x%x)" % (communicator(lay, request), rank, tag, rest,
                                                          lay.get(request, "handle", "I"))


class MpiCommand(gdb.Command):
    """MPI's message queues: mpi queues"""

    def __init__(self):
        super().__init__("mpi", gdb.COMMAND_DATA)

    def complete(self, text, word):
        return [w for w in ["queues"] if w.startswith(text)]

    def invoke(self, argument, from_tty):
        if argument.strip() != "queues":
            raise gdb.GdbError("mpi queues")
        lay = Layout()
        for name, head in zip(("posted receives", "unexpected messages"), lay.heads):
            lines, request = [], head
            while request and len(lines) < SHOWN:
                lines.append(line(lay, request, name[0] == "p"))
                request = lay.get(request, "next", "Q")
            print("%d %s%s" % (len(lines), name, " (the first)" if request else ""))
            for text in lines:
                print(text)


MpiCommand()
