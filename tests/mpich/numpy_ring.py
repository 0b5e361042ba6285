# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# NumPy arrays of 1 KiB and 100 MiB from rank to rank, in a plain python3 that knows nothing of Portals.
#
# By mpi4py where there is one for MPICH's ABI, else by ctypes, which loads libmpich.so.12 at the same time and place.
# Prints who carried the messages and which way they went: "by mpi4py ...", "1024 bytes: PATH", ...
import ctypes
import sys

import numpy

DIRECT, CMA, BOUNCE = "direct", "cma", "bounce"


class Ctypes:
    """The few calls that we need, with the handles of MPICH's ABI."""
    WORLD, BYTE, DOUBLE, SUM = 0x44000000, 0x4c00010d, 0x4c00080b, 0x58000003

    def __init__(self):
        self.name = "ctypes"
        self.mpi = ctypes.CDLL("libmpich.so.12", mode=ctypes.RTLD_GLOBAL)
        assert self.mpi.MPI_Init(None, None) == 0

    def number(self, call):
        n = ctypes.c_int()
        assert getattr(self.mpi, call)(self.WORLD, ctypes.byref(n)) == 0
        return n.value

    def sendrecv(self, a, to, b, source):
        status = (ctypes.c_int * 5)()
        assert self.mpi.MPI_Sendrecv(ctypes.c_void_p(a.ctypes.data), a.nbytes, self.BYTE, to, 7,
                                     ctypes.c_void_p(b.ctypes.data), b.nbytes, self.BYTE, source, 7, self.WORLD,
                                     status) == 0

    def sum(self, a, b):
        assert self.mpi.MPI_Allreduce(ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(b.ctypes.data), a.size, self.DOUBLE,
                                      self.SUM, self.WORLD) == 0

    def version(self):
        text, n = ctypes.create_string_buffer(8192), ctypes.c_int()
        self.mpi.MPI_Get_library_version(text, ctypes.byref(n))
        return text.value.decode()

    def end(self):
        assert self.mpi.MPI_Finalize() == 0


class Mpi4py:
    def __init__(self):
        import mpi4py
        from mpi4py import MPI
        if "MPICH" not in MPI.Get_library_version():
            raise ImportError("mpi4py is for another MPI")
        self.mpi, self.name = MPI, "mpi4py " + mpi4py.__version__

    def number(self, call):
        world = self.mpi.COMM_WORLD
        return world.Get_rank() if call == "MPI_Comm_rank" else world.Get_size()

    def sendrecv(self, a, to, b, source):
        self.mpi.COMM_WORLD.Sendrecv(a, to, 7, b, source, 7)

    def sum(self, a, b):
        self.mpi.COMM_WORLD.Allreduce(a, b, op=self.mpi.SUM)

    def version(self):
        return self.mpi.Get_library_version()

    def end(self):
        pass


def path(peer, a):
    """Which way this rank would read a peer's array."""
    smartmap = ctypes.CDLL("libsmartmap.so.0")
    smartmap.smartmap_path.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    return [DIRECT, CMA, BOUNCE][smartmap.smartmap_path(peer, a, SIZE)]


try:
    m = Mpi4py()
except (ImportError, RuntimeError, OSError):
    m = Ctypes()
rank, size = m.number("MPI_Comm_rank"), m.number("MPI_Comm_size")
if rank == 0:
    print("by", m.name, "over", [w for w in m.version().split() if w.startswith("ch")][:1])
bad = 0
for SIZE in 1024, 100 << 20:
    a = (numpy.arange(SIZE // 8, dtype=numpy.float64) * 3 + rank)
    b = numpy.zeros_like(a)
    for k in range(3):
        m.sendrecv(a, (rank + 1) % size, b, (rank - 1) % size)
    bad += not numpy.array_equal(b, numpy.arange(SIZE // 8) * 3 + (rank - 1) % size)
    m.sum(a, b)
    bad += not numpy.array_equal(b, numpy.arange(SIZE // 8) * 3 * size + size * (size - 1) // 2)
    where, all = numpy.array([a.ctypes.data], dtype=numpy.float64), numpy.zeros(1)
    m.sendrecv(where, (rank + 1) % size, all, (rank - 1) % size)
    if rank == 0:
        print("%d bytes: %s" % (SIZE, path((rank - 1) % size, int(all[0]))))
    m.sum(where, all)
    del a, b
total = numpy.zeros(1)
m.sum(numpy.array([float(bad)]), total)
m.end()
sys.exit(int(total[0] != 0))
