! SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
! coarray.f90 - Co-Array Fortran through OpenCoarrays: puts and gets between images, strided ones, sync images, locks
! and critical, atomics, events, co_sum and its kin, allocatable coarrays, a heat stencil against the same on one image.
! Prints a line for each rule; any number of images from 2 on.
program coarray
	use iso_fortran_env
	implicit none
	integer, parameter :: long = 5000
	integer :: me, n, next, before, bad = 0
	integer :: word[*]
	integer :: block(long)[*]
	integer :: counter[*]
	integer(atomic_int_kind) :: atom[*]
	type(event_type) :: ready[*], taken[*]
	type(lock_type) :: lock[*]

	me = this_image()
	n = num_images()
	next = merge(1, me + 1, me == n)
	before = merge(n, me - 1, me == 1)
	call puts_and_gets
	call strides
	call pairs
	call one_at_a_time
	call atomics
	call events
	call collectives
	call allocatables
	call heat
	sync all
	if (me == 1) print '(a)', 'all is right'
contains
	! All images say whether it was good; image 1 says so.
	subroutine rule(name, good)
		character(*), intent(in) :: name
		logical, intent(in) :: good
		integer :: wrong

		wrong = merge(0, 1, good)
		call co_sum(wrong)
		if (wrong /= 0) then
			if (me == 1) print '(3a,i0,a)', 'not so: ', name, ' on ', wrong, ' images'
			flush (output_unit)
			sync all
			error stop 1
		end if
		if (me == 1) print '(2a)', 'good: ', name
	end subroutine

	subroutine puts_and_gets
		integer :: i, got(long), mine(long)

		word = 0
		block = [(me * 100000 + i, i = 1, long)]
		sync all
		word[next] = me
		got = block(:)[next]
		sync all
		call rule('a put to the next image', word == before)
		call rule('a get of the next image', all(got == [(next * 100000 + i, i = 1, long)]))
		mine = -block
		sync all
		block(:)[next] = mine
		sync all
		call rule('a long put behind it', all(block == [(-(before * 100000 + i), i = 1, long)]))
		sync all
	end subroutine

	subroutine strides
		integer :: i, got(100)

		block = 0
		sync all
		block(1:long:50)[next] = [(me * 1000 + i, i = 1, 100)]
		sync all
		call rule('a strided put', all(block(1:long:50) == [(before * 1000 + i, i = 1, 100)]) .and. &
			count(block /= 0) == 100)
		got = block(long - 49:1:-50)[next]
		call rule('a strided get, from the end', all(got == [(me * 1000 + 101 - i, i = 1, 100)]))
		sync all
	end subroutine

	! The images as a chain: each waits for its neighbours only.
	subroutine pairs
		integer :: i

		word = 0
		sync all
		do i = 1, 50
			if (me > 1) sync images (me - 1)
			if (me < n) then
				word[me + 1] = word + 1
				sync images (me + 1)
			end if
		end do
		call rule('sync images along a chain', word >= min(me - 1, 1) .and. word <= me - 1)
		sync all
	end subroutine

	subroutine one_at_a_time
		integer :: i, seen

		counter = 0
		sync all
		do i = 1, 40
			lock (lock[1])
			seen = counter[1]
			counter[1] = seen + 1
			unlock (lock[1])
		end do
		sync all
		call rule('a lock loses no addition', counter[1] == 40 * n)
		sync all
		do i = 1, 20
			critical
				seen = counter[1]
				counter[1] = seen + 1
			end critical
		end do
		sync all
		call rule('nor does critical', counter[1] == 60 * n)
		sync all
	end subroutine

	subroutine atomics
		integer(atomic_int_kind) :: old, first
		integer :: i

		call atomic_define(atom, 0)
		sync all
		do i = 1, 100
			call atomic_add(atom[1], 3)
		end do
		call atomic_fetch_add(atom[n], 0, first)
		call atomic_cas(atom[next], old, -1, 5)
		sync all
		call atomic_ref(old, atom[1])
		call rule('atomic additions', old == 300 * n)
		sync all
	end subroutine

	! A ring: data, then an event; the consumer says that it has taken them.
	subroutine events
		integer :: i, wrong

		wrong = 0
		sync all
		do i = 1, 100
			block(:)[next] = me + i
			event post (ready[next])
			event wait (ready)
			if (any(block /= before + i)) wrong = wrong + 1
			event post (taken[before])
			event wait (taken)
		end do
		call rule('who has waited for an event sees the data', wrong == 0)
		sync all
	end subroutine

	subroutine collectives
		real(real64) :: x(1000)
		integer :: i, v

		x = [(real(i, real64) * me, i = 1, 1000)]
		call co_sum(x)
		call rule('co_sum', all(x == [(real(i, real64) * (n * (n + 1) / 2), i = 1, 1000)]))
		v = me
		call co_max(v)
		call rule('co_max', v == n)
		v = me
		call co_min(v, result_image = n)
		call rule('co_min, on one image', me /= n .or. v == 1)
		v = me * 7
		call co_broadcast(v, source_image = n)
		call rule('co_broadcast', v == n * 7)
	end subroutine

	subroutine allocatables
		integer, allocatable :: a(:)[:]
		integer :: k
		logical :: good

		good = .true.
		do k = 1, 20
			allocate (a(k * 1000)[*])
			a(:)[next] = me * k
			sync all
			good = good .and. all(a == before * k)
			deallocate (a)
		end do
		call rule('coarrays come and go', good)
	end subroutine

	! One-dimensional, 100 cells of each image; the same on image 1 alone, but for what an optimiser rounds.
	subroutine heat
		integer, parameter :: cells = 100, steps = 200
		real(real64), allocatable :: u(:)[:], new(:), whole(:), again(:)
		integer :: i, k

		allocate (u(0:cells + 1)[*], new(cells), whole(0:n * cells + 1), again(n * cells))
		u = 0
		u(1:cells) = [(sin(real((me - 1) * cells + i, real64)), i = 1, cells)]
		sync all
		do k = 1, steps
			if (me > 1) u(cells + 1)[me - 1] = u(1)
			if (me < n) u(0)[me + 1] = u(cells)
			sync all
			new = u(1:cells) + 0.25_real64 * (u(0:cells - 1) - 2 * u(1:cells) + u(2:cells + 1))
			sync all
			u(1:cells) = new
		end do
		sync all
		if (me == 1) then
			whole = 0
			whole(1:n * cells) = [(sin(real(i, real64)), i = 1, n * cells)]
			do k = 1, steps
				again = whole(1:n * cells) + 0.25_real64 * (whole(0:n * cells - 1) - 2 * whole(1:n * cells) + &
					whole(2:n * cells + 1))
				whole(1:n * cells) = again
			end do
			do i = 1, n
				new = u(1:cells)[i]
				if (any(abs(new - whole((i - 1) * cells + 1:i * cells)) > 1e-12_real64)) bad = bad + 1
			end do
		end if
		call rule('a heat stencil, as on one image', bad == 0)
	end subroutine
end program
