! SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
! The first Fortran binding, mpif.h: a message with its status, a sum.
      program f
      implicit none
      include 'mpif.h'
      integer r, n, x, s, ierr, i
      integer st(MPI_STATUS_SIZE)
      double precision a(1000)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, r, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, n, ierr)
      x = 1
      call MPI_ALLREDUCE(x, s, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      if (r .eq. 1) then
         do i = 1, 1000
            a(i) = i
         end do
         call MPI_SEND(a,1000,MPI_DOUBLE_PRECISION,0,7,
     &        MPI_COMM_WORLD, ierr)
      else if (r .eq. 0 .and. n .gt. 1) then
         call MPI_RECV(a,1000,MPI_DOUBLE_PRECISION,MPI_ANY_SOURCE,
     &        MPI_ANY_TAG, MPI_COMM_WORLD, st, ierr)
         if (st(MPI_SOURCE) .ne. 1 .or. st(MPI_TAG) .ne. 7) s = -1
         call MPI_GET_COUNT(st, MPI_DOUBLE_PRECISION, x, ierr)
         if (x .ne. 1000 .or. a(1000) .ne. 1000d0) s = -2
      end if
      if (r .eq. 0 .and. s .eq. n) print '(a)', 'good'
      if (r .eq. 0 .and. s .ne. n) print '(a)', 'bad'
      call MPI_FINALIZE(ierr)
      end
