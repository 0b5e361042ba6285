! SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
! The newest Fortran binding, mpi_f08: handles are types, ierror may be left out.
program g
  use mpi_f08
  implicit none
  integer :: r, n, x, s
  type(MPI_Comm) :: c
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, c)
  call MPI_Comm_rank(c, r)
  call MPI_Comm_size(c, n)
  x = 1
  call MPI_Allreduce(x, s, 1, MPI_INTEGER, MPI_SUM, c)
  if (r == 0) print '(a)', merge('good', 'bad ', s == n)
  call MPI_Finalize()
end program
