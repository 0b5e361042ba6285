! SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
! t_free.f90 - the Fortran bindings, in free form: each PE puts to the next, and prints a line for what is wrong
module checks
  implicit none
  integer :: bad = 0, tests = 0
contains
  subroutine check(good, name)
    logical, intent(in) :: good
    character(*), intent(in) :: name
    tests = tests + 1
    if (good) return
    bad = bad + 1
    print '(2a)', 'wrong: ', name
  end subroutine check
end module checks

program t_free
  use checks
  implicit none
  include 'shmem.fh'
  integer :: shmem_my_pe, shmem_n_pes, shmem_swap, shmem_test_lock
  logical :: shmem_pe_accessible, shmem_addr_accessible
  integer(4) :: shmem_int4_fadd, shmem_int4_finc, shmem_int4_cswap, shmem_int4_swap, shmem_int4_fetch
  integer(8) :: shmem_int8_fadd, shmem_int8_finc, shmem_int8_cswap, shmem_int8_swap, shmem_int8_fetch
  real(4) :: shmem_real4_swap, shmem_real4_fetch
  real(8) :: shmem_real8_swap
  integer(8) :: shmem_ptr
  integer, save :: i(20), lock = 0, locked = 0, flag = 0
  integer(4), save :: i4(20)
  integer(8), save :: i8(20)
  real, save :: r(20)
  real(4), save :: r4
  real(8), save :: r8
  double precision, save :: d(20)
  complex, save :: z(20)
  logical, save :: l(20)
  character(len=11), save :: c
  integer :: me, n, to, from, k, major, minor, mine(20)
  real :: rmine(20)
  double precision :: dmine(20)
  complex :: zmine(20)
  logical :: lmine(20)
  integer(4) :: m4(20)
  integer(8) :: m8(20)
  character(len=11) :: cmine
  character(len=SHMEM_MAX_NAME_LEN) :: name
  integer :: seen
  pointer (p, seen)

  call shmem_init()
  me = shmem_my_pe()
  n = shmem_n_pes()
  to = mod(me + 1, n)
  from = mod(me + n - 1, n)
  call shmem_info_get_version(major, minor)
  call check(major == SHMEM_MAJOR_VERSION .and. minor == SHMEM_MINOR_VERSION, 'version')
  call shmem_info_get_name(name)
  call check(name == SHMEM_VENDOR_STRING, 'name')
  call check(shmem_pe_accessible(to) .and. .not. shmem_pe_accessible(n), 'pe_accessible')
  call check(shmem_addr_accessible(i, to), 'addr_accessible')

  do k = 1, 20
    mine(k) = 1000 * me + k
    rmine(k) = real(1000 * me + k)
    dmine(k) = 1000d0 * me + k
    zmine(k) = cmplx(real(me), real(k))
    lmine(k) = mod(me + k, 2) == 0
    m4(k) = int(1000 * me + k, 4)
    m8(k) = int(1000 * me + k, 8)
  end do
  write (cmine, '(a,i4.4)') 'this is', me
  call shmem_integer_put(i, mine, 20, to)
  call shmem_real_put(r, rmine, 20, to)
  call shmem_double_put(d, dmine, 20, to)
  call shmem_complex_put(z, zmine, 20, to)
  call shmem_logical_put(l, lmine, 20, to)
  call shmem_character_put(c, cmine, 11, to)
  call shmem_put4(i4, m4, 20, to)
  call shmem_put64_nbi(i8, m8, 20, to)
  call shmem_quiet()
  call shmem_barrier_all()
  call check(all(i == mine + 1000 * (from - me)), 'integer_put')
  call check(all(r == rmine + 1000 * (from - me)), 'real_put')
  call check(all(d == dmine + 1000 * (from - me)), 'double_put')
  call check(all(real(z) == real(from)) .and. aimag(z(20)) == 20., 'complex_put')
  call check(l(1) .eqv. mod(from + 1, 2) == 0, 'logical_put')
  write (cmine, '(a,i4.4)') 'this is', from
  call check(c == cmine, 'character_put')
  call check(all(i4 == m4 + 1000 * (from - me)), 'put4')
  call check(all(i8 == m8 + 1000 * (from - me)), 'put64_nbi')
  call shmem_barrier_all()

  mine = 0
  call shmem_integer_get(mine, i, 20, to)
  call check(mine(20) == 1000 * me + 20, 'integer_get')
  call shmem_get8(m8, i8, 20, to)
  call check(m8(7) == 1000 * me + 7, 'get8')
  call shmem_getmem(m4, i4, 40, to)
  call check(m4(10) == 1000 * me + 10, 'getmem')
  call shmem_get32_nbi(m4, i4, 20, to)
  call shmem_quiet()
  call check(m4(20) == 1000 * me + 20, 'get32_nbi')
  call shmem_get128(zmine, d, 10, to)
  call shmem_complex_get(zmine, z, 20, to)
  call check(real(zmine(3)) == real(me), 'complex_get')
  call shmem_barrier_all()
  call shmem_integer_iput(i, mine, 3, 2, 5, to)
  call shmem_barrier_all()
  call check(i(4) == 1000 * from + 3 .and. i(13) == 1000 * from + 9, 'integer_iput')
  call shmem_iget8(m8, i8, 2, 4, 3, to)
  call check(m8(5) == 1000 * me + 9, 'iget8')
  call shmem_real_iget(rmine, r, 1, 5, 4, to)
  call check(rmine(4) == 1000 * me + 16, 'real_iget')
  call shmem_barrier_all()

  i4 = 0
  i8 = 0
  i = 0
  r4 = real(me, 4)
  r8 = me
  call shmem_barrier_all()
  call check(shmem_int4_fadd(i4(me + 1), 5, 0) == 0, 'int4_fadd')
  call check(shmem_int4_finc(i4(me + 1), 0) == 5, 'int4_finc')
  call check(shmem_int4_cswap(i4(me + 1), 6, 9, 0) == 6, 'int4_cswap')
  call check(shmem_int4_swap(i4(me + 1), 11, 0) == 9, 'int4_swap')
  call shmem_int4_add(i4(me + 1), 100, 0)
  call shmem_int4_inc(i4(me + 1), 0)
  call check(shmem_int4_fetch(i4(me + 1), 0) == 112, 'int4_fetch')
  call shmem_int4_set(i4(me + 1), 3, 0)
  call check(shmem_int8_fadd(i8(me + 1), 5000000000_8, 0) == 0, 'int8_fadd')
  call check(shmem_int8_finc(i8(me + 1), 0) == 5000000000_8, 'int8_finc')
  call check(shmem_int8_cswap(i8(me + 1), 5000000001_8, 9_8, 0) == 5000000001_8, 'int8_cswap')
  call check(shmem_int8_swap(i8(me + 1), -11_8, 0) == 9, 'int8_swap')
  call check(shmem_int8_fetch(i8(me + 1), 0) == -11, 'int8_fetch')
  call check(shmem_real4_swap(r4, -1._4, to) == real(to), 'real4_swap')
  call check(shmem_real8_swap(r8, -2d0, to) == to, 'real8_swap')
  call check(shmem_swap(i(me + 1), -7, 0) == 0, 'swap')
  do k = 1, 100
    call shmem_int8_inc(i8(20), 0)
  end do
  call shmem_barrier_all()
  call check(r4 == -1. .and. r8 == -2d0, 'swaps have arrived')
  call check(shmem_real4_fetch(r4, to) == -1., 'real4_fetch')
  if (me == 0) call check(i8(20) == 100 * n .and. all(i(1:n) == -7) .and. all(i4(1:n) == 3), 'all arrived')
  call shmem_barrier_all()

  if (me == 0) then
    call shmem_integer_put(flag, n, 1, to)
    if (n > 1) call shmem_wait_until(flag, SHMEM_CMP_GT, 0)
  else
    call shmem_wait(flag, 0)
    call shmem_integer_put(flag, n, 1, to)
  end if
  call check(flag == n, 'wait')

  do k = 1, 200
    if (mod(k, 3) == 0) then
      do while (shmem_test_lock(lock) /= 0)
      end do
    else
      call shmem_set_lock(lock)
    end if
    call shmem_integer_get(mine, locked, 1, 0)
    mine(1) = mine(1) + 1
    call shmem_integer_put(locked, mine, 1, 0)
    call shmem_clear_lock(lock)
  end do
  call shmem_barrier_all()
  if (me == 0) call check(locked == 200 * n, 'lock')

  p = shmem_ptr(flag, to)
  call check(p /= 0, 'ptr')
  if (p /= 0) call check(seen == n, 'through ptr')
  call shmem_barrier_all()
  call shmem_set_cache_inv()
  call shmem_udcflush()
  if (bad == 0) print '(a,i0,a)', 'all right: ', tests, ' checks'
  call shmem_finalize()
end program t_free
