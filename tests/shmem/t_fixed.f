! SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
! t_fixed.f - a program of the T3E's days: fixed form, START_PES, COMMON, SHPALLOC with Cray pointers
      PROGRAM TFIXED
      IMPLICIT NONE
      INCLUDE 'mpp/shmem.fh'
      INTEGER MY_PE, NUM_PES
      INTEGER ME, N, TO, FROM, BAD, ERR, I
      INTEGER*8 WORDS, MINE(16), ADDR
      COMMON /SYM/ WORDS(16)
      INTEGER*8 BLOCK(1)
      POINTER (PB, BLOCK)
      REAL*8 WIDE(100)
      POINTER (PW, WIDE)

      CALL START_PES(0)
      ME = MY_PE()
      N = NUM_PES()
      TO = MOD(ME + 1, N)
      FROM = MOD(ME + N - 1, N)
      BAD = 0
      DO 10 I = 1, 16
        MINE(I) = 100 * ME + I
   10 CONTINUE
      CALL SHMEM_PUT(WORDS, MINE, 16, TO)
      CALL SHMEM_BARRIER_ALL
      DO 20 I = 1, 16
        IF (WORDS(I) .NE. 100 * FROM + I) BAD = BAD + 1
   20 CONTINUE
      CALL SHMEM_GET(MINE, WORDS, 16, TO)
      IF (MINE(16) .NE. 100 * ME + 16) BAD = BAD + 1

!     Two blocks, used, one moved, both given back; errors by number
      CALL SHPALLOC(PB, 32, ERR, 1)
      IF (ERR .NE. 0) BAD = BAD + 1
      CALL SHPALLOC(PW, 200, ERR, 0)
      IF (ERR .NE. 0) BAD = BAD + 1
      BLOCK(1) = ME
      WIDE(100) = ME + 0.5D0
      CALL SHMEM_PUT8(BLOCK(2), BLOCK(1), 1, TO)
      CALL SHMEM_BARRIER_ALL
      IF (BLOCK(2) .NE. FROM) BAD = BAD + 1
      CALL SHPCLMOVE(PB, 4000, ERR, 0)
      IF (ERR .NE. 1) BAD = BAD + 1
      IF (BLOCK(2) .NE. FROM) BAD = BAD + 1
      CALL SHPCLMOVE(PB, 3999, ERR, 1)
      IF (ERR .NE. 0) BAD = BAD + 1
      CALL SHMEM_DOUBLE_GET(WIDE(1), WIDE(100), 1, TO)
      IF (WIDE(1) .NE. TO + 0.5D0) BAD = BAD + 1
      ADDR = PW
      CALL SHPDEALLC(PW, ERR, 1)
      IF (ERR .NE. 0) BAD = BAD + 1
      PW = ADDR
      CALL SHPDEALLC(PW, ERR, 0)
      IF (ERR .NE. -4) BAD = BAD + 1
      PW = PB + 8
      CALL SHPDEALLC(PW, ERR, 0)
      IF (ERR .NE. -5) BAD = BAD + 1
      PW = LOC(WORDS)
      CALL SHPDEALLC(PW, ERR, 0)
      IF (ERR .NE. -3) BAD = BAD + 1
      CALL SHPALLOC(PW, -1, ERR, 0)
      IF (ERR .NE. -1) BAD = BAD + 1
      CALL SHPALLOC(PW, 500000000, ERR, 0)
      IF (ERR .NE. -2) BAD = BAD + 1
      CALL SHPDEALLC(PB, ERR, 1)
      IF (BAD .EQ. 0) PRINT *, 'all right'
      IF (BAD .NE. 0) PRINT *, 'wrong:', BAD
      END
