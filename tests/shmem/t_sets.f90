! SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
! t_sets.f90 - collectives over active sets from Fortran: all PEs, and those with even numbers
program t_sets
  implicit none
  include 'shmem.fh'
  integer, parameter :: n = 300
  integer :: shmem_my_pe, shmem_n_pes
  integer, save :: psync(SHMEM_SYNC_SIZE) = SHMEM_SYNC_VALUE, psync2(SHMEM_SYNC_SIZE) = SHMEM_SYNC_VALUE
  integer(2), save :: s2(n), d2(n), w2(n)
  integer(4), save :: s4(n), d4(8 * n), w4(n)
  integer(8), save :: s8(n), d8(8 * n), w8(n)
  real(4), save :: sr4(n), dr4(n), wr4(n)
  real(8), save :: sr8(n), dr8(n), wr8(n)
  real(16), save :: sr16(n), dr16(n), wr16(n)
  complex(4), save :: sc4(n), dc4(n), wc4(n)
  complex(8), save :: sc8(n), dc8(n), wc8(n)
  integer :: me, pes, k, p, even, bad = 0
  integer(8) :: total

  call shmem_init()
  me = shmem_my_pe()
  pes = shmem_n_pes()
  total = int(pes, 8) * (pes - 1) / 2
  do k = 1, n
    s2(k) = int(me + k, 2)
    s4(k) = int(1000 * me + k, 4)
    s8(k) = 10000000000_8 * me + k
    sr4(k) = real(me, 4)
    sr8(k) = me + 0.25d0
    sr16(k) = me + 0.25_16
    sc4(k) = cmplx(me, k, 4)
    sc8(k) = cmplx(me, -k, 8)
  end do
  d4 = -1
  d8 = -1
  call shmem_barrier_all()

  call shmem_broadcast4(d4, s4, n, pes - 1, 0, 0, pes, psync)
  call check((me == pes - 1 .and. d4(1) == -1) .or. all(d4(1:n) == s4 + 1000 * (pes - 1 - me)), 'broadcast4')
  call shmem_broadcast64(d8, s8, n, 0, 0, 0, pes, psync2)
  call check(me == 0 .or. d8(n) == n, 'broadcast64')
  call shmem_barrier(0, 0, pes, psync)
  call shmem_fcollect8(d8, s8, 5, 0, 0, pes, psync2)
  do p = 0, min(pes, 8) - 1
    call check(d8(5 * p + 5) == 10000000000_8 * p + 5, 'fcollect8')
  end do
  call shmem_barrier_all()
  call shmem_collect32(d4, s4, me + 1, 0, 0, pes, psync)
  call check(d4(1) == 1 .and. d4((pes * (pes + 1)) / 2) == 1000 * (pes - 1) + pes, 'collect32')
  call shmem_barrier_all()
  call shmem_alltoall32(d4, s4, 3, 0, 0, pes, psync2)
  do p = 0, pes - 1
    call check(d4(3 * p + 2) == 1000 * p + 3 * me + 2, 'alltoall32')
  end do
  call shmem_barrier_all()
  d8 = -1
  call shmem_barrier_all()
  call shmem_alltoalls64(d8, s8, 2, 1, 2, 0, 0, pes, psync)
  do p = 0, pes - 1
    call check(d8(4 * p + 3) == 10000000000_8 * p + 2 * me + 2 .and. d8(4 * p + 2) == -1, 'alltoalls64')
  end do
  call shmem_barrier_all()

  call shmem_int2_max_to_all(d2, s2, n, 0, 0, pes, w2, psync)
  call check(all(d2 == s2 + int(pes - 1 - me, 2)), 'int2_max')
  call shmem_int4_sum_to_all(d4, s4, n, 0, 0, pes, w4, psync2)
  call check(d4(7) == 1000 * total + 7 * pes, 'int4_sum')
  call shmem_int8_min_to_all(d8, s8, n, 0, 0, pes, w8, psync)
  call check(d8(n) == n, 'int8_min')
  call shmem_int8_xor_to_all(d8, s8, 1, me, 0, 1, w8, psync2)
  call check(d8(1) == s8(1), 'int8_xor of one')
  call shmem_real4_sum_to_all(dr4, sr4, n, 0, 0, pes, wr4, psync)
  call check(all(dr4 == real(total, 4)), 'real4_sum')
  call shmem_real8_max_to_all(dr8, sr8, n, 0, 0, pes, wr8, psync2)
  call check(all(dr8 == pes - 0.75d0), 'real8_max')
  call shmem_real16_sum_to_all(dr16, sr16, n, 0, 0, pes, wr16, psync)
  call check(all(dr16 == total + 0.25_16 * pes), 'real16_sum')
  call shmem_real16_min_to_all(sr16, sr16, n, 0, 0, pes, wr16, psync2)
  call check(all(sr16 == 0.25_16), 'real16_min in place')
  call shmem_comp4_sum_to_all(dc4, sc4, n, 0, 0, pes, wc4, psync)
  call check(real(dc4(9)) == real(total, 4) .and. aimag(dc4(9)) == 9 * pes, 'comp4_sum')
  call shmem_comp8_sum_to_all(dc8, sc8, n, 0, 0, pes, wc8, psync2)
  call check(dc8(9) == cmplx(total, -9 * pes, 8), 'comp8_sum')
  call shmem_barrier_all()

  ! those with even numbers
  even = (pes + 1) / 2
  if (mod(me, 2) == 0) then
    call shmem_int4_sum_to_all(d4, s4, 2, 0, 1, even, w4, psync)
    call check(d4(2) == 1000 * even * (even - 1) + 2 * even, 'sum of the even')
    call shmem_barrier(0, 1, even, psync2)
  end if
  call check(all(psync == SHMEM_SYNC_VALUE) .and. all(psync2 == SHMEM_SYNC_VALUE), 'psync is as it was')
  call shmem_barrier_all()
  if (bad == 0) print '(a)', 'all right'
  call shmem_finalize()
contains
  subroutine check(good, name)
    logical, intent(in) :: good
    character(*), intent(in) :: name
    if (good) return
    bad = bad + 1
    print '(2a)', 'wrong: ', name
  end subroutine check
end program t_sets
