! SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
! INTEGER, REAL and DOUBLE PRECISION of 8 bytes, by mpif90 -default64: point to point, reductions, functions called back.
program default64
  use mpi
  implicit none
  integer :: r, n, i, s, ierr, op, st(MPI_STATUS_SIZE), req(2), cnt, eh, tp, types(2), lens(2), bytes
  integer(kind=MPI_ADDRESS_KIND) :: disp(2), lb, ext
  integer :: a(100), b(100)
  real :: x(10), y(10)
  double precision :: d, e
  complex :: z, zz
  logical :: l, ll, flag
  external mysum
  interface
    subroutine onerr(c, e)
      integer :: c, e
    end subroutine
  end interface
  integer :: caught
  common /seen/ caught
  integer :: bad
  bad = 0
  caught = 0
  if (storage_size(r) /= 64 .or. storage_size(x) /= 64 .or. storage_size(d) /= 64) bad = 1
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, r, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
  a = [(i * 4294967296_8 + r, i = 1, 100)]
  call MPI_ISEND(a, 100, MPI_INTEGER, mod(r + 1, n), 3, MPI_COMM_WORLD, req(1), ierr)
  call MPI_IRECV(b, 100, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, req(2), ierr)
  call MPI_WAIT(req(2), st, ierr)
  call MPI_GET_COUNT(st, MPI_INTEGER, cnt, ierr)
  if (cnt /= 100 .or. st(MPI_SOURCE) /= mod(r + n - 1, n) .or. b(100) /= 100 * 4294967296_8 + mod(r + n - 1, n)) bad = 2
  call MPI_WAITALL(1, req, MPI_STATUSES_IGNORE, ierr)
  call MPI_ALLREDUCE(4294967296_8 * (r + 1), s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (s /= 4294967296_8 * (n * (n + 1) / 2)) bad = 3
  x = r + 1.0
  call MPI_REDUCE(x, y, 10, MPI_REAL, MPI_PROD, 0, MPI_COMM_WORLD, ierr)
  if (r == 0 .and. abs(y(10) - gamma(n + 1.0)) > 1e-12) bad = 4
  d = r
  call MPI_ALLREDUCE(d, e, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  if (e /= n - 1) bad = 5
  z = cmplx(1, r)
  call MPI_ALLREDUCE(z, zz, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (zz /= cmplx(n, n * (n - 1) / 2)) bad = 6
  l = r == 0
  call MPI_ALLREDUCE(l, ll, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
  if (.not. ll) bad = 7
  call MPI_OP_CREATE(mysum, .true., op, ierr)
  call MPI_ALLREDUCE(a, b, 100, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  if (b(7) /= n * 7 * 4294967296_8 + n * (n - 1) / 2) bad = 8
  call MPI_OP_FREE(op, ierr)
  s = r
  call MPI_ALLREDUCE(MPI_IN_PLACE, s, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (s /= n * (n - 1) / 2) bad = 9
  lens = [1, 2]
  disp = [0, 16]
  types = [MPI_INTEGER, MPI_REAL]
  call MPI_TYPE_CREATE_STRUCT(2, lens, disp, types, tp, ierr)
  call MPI_TYPE_COMMIT(tp, ierr)
  call MPI_TYPE_SIZE(tp, bytes, ierr)
  call MPI_TYPE_GET_EXTENT(tp, lb, ext, ierr)
  if (bytes /= 24 .or. ext /= 32) bad = 10
  call MPI_TYPE_FREE(tp, ierr)
  call MPI_SIZEOF(s, bytes, ierr)
  if (bytes /= 8) bad = 11
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, ext, flag, ierr)
  if (.not. flag .or. ext < 32767) bad = 12
  call MPI_COMM_CREATE_ERRHANDLER(onerr, eh, ierr)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, eh, ierr)
  call MPI_SEND(s, 1, MPI_INTEGER, n + 5, 0, MPI_COMM_WORLD, ierr)
  if (caught /= MPI_COMM_WORLD .or. ierr == MPI_SUCCESS) bad = 13
  call MPI_ERRHANDLER_FREE(eh, ierr)
  call MPI_ALLREDUCE(bad, s, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  if (r == 0) print "(a,i3)", merge("good", "bad ", s == 0), s
  call MPI_FINALIZE(ierr)
end program
subroutine mysum(u, v, len, type)
  integer :: len, type, u(len), v(len)
  v = v + u
end subroutine
subroutine onerr(c, e)
  integer :: c, e, caught
  common /seen/ caught
  caught = c
end subroutine
