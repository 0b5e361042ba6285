/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_probe.h - places where gdb, perf, bpftrace or SystemTap can look on (USDT, provider "portals")
 *
 * A probe is a note in the program's file: an address, a name, and where its arguments are at that moment. Nobody reads
 * it while the program runs; who traces puts a breakpoint there. It costs a nop, and nothing where P3_PROBE_ADD()
 * can be used: there the address is that of an addition which is made anyway. Arguments are values that the code
 * has in registers at that place, or constants: then none has to be fetched for it. All are listed in
 * portals/doc/PROBES.md.
 *
 * The format of the note is SystemTap's, version 3, which the tools know. <sys/sdt.h> would write the same; it has
 * no form without the nop, lets clang spill arguments, and would be one more thing to install.
 *
 * In the recording library, which ptl_trace loads, P3_TRACE is defined and P3_TRACED() calls portals/trace;
 * anywhere else it is nothing. In the kernel all of it is nothing: tracepoints are the module's own.
 */
#ifndef P3_PROBE_H
#define P3_PROBE_H

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__KERNEL__)

#if __GNUC__ >= 9 || (defined(__clang__) && __clang_major__ >= 11)
#define P3_ASM __asm__ __inline__ __volatile__	/* its length in lines says nothing about its size */
#else
#define P3_ASM __asm__ __volatile__
#endif
#ifdef __clang__				/* given the choice it spills */
#define P3_PROBE_IN "nr"
#else
#define P3_PROBE_IN "nor"
#endif

#define P3_NOTE(insn, name, args)							\
	"990:	" insn "\n"								\
	".pushsection .note.stapsdt,\"\",\"note\"\n"					\
	".balign 4\n"									\
	".4byte 992f-991f, 994f-993f, 3\n"						\
	"991: .asciz \"stapsdt\"\n"							\
	"992: .balign 4\n"								\
	"993: .8byte 990b\n"								\
	".8byte _.stapsdt.base\n"							\
	".8byte 0\n"									\
	".asciz \"portals\"\n"								\
	".asciz \"" #name "\"\n"							\
	".asciz \"" args "\"\n"								\
	"994: .balign 4\n"								\
	".popsection\n"									\
	".ifndef _.stapsdt.base\n"							\
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"		\
	".weak _.stapsdt.base\n"							\
	".hidden _.stapsdt.base\n"							\
	"_.stapsdt.base: .space 1\n"							\
	".size _.stapsdt.base, 1\n"							\
	".popsection\n"									\
	".endif\n"

/* %n prints a constant negated; a size below 0 means a signed argument */
#define P3_PROBE_SIZE(x) ((__typeof__(x))-1 < (__typeof__(x))1 ? (int)sizeof(x) : -(int)sizeof(x))
#define P3_ARG(k, x)	[s##k] "n"(P3_PROBE_SIZE(x)), [a##k] P3_PROBE_IN(x)
#define P3_ARGM(k, x)	[s##k] "n"(P3_PROBE_SIZE(x)), [a##k] "m"(x)	/* in memory: not fetched for the probe */
#define P3_F1 "%n[s1]@%[a1]"
#define P3_F2 P3_F1 " %n[s2]@%[a2]"
#define P3_F3 P3_F2 " %n[s3]@%[a3]"
#define P3_F4 P3_F3 " %n[s4]@%[a4]"
#define P3_F5 P3_F4 " %n[s5]@%[a5]"

#define P3_PROBE1(name, a) P3_ASM(P3_NOTE("nop", name, P3_F1) :: P3_ARG(1, a))
#define P3_PROBE2(name, a, b) P3_ASM(P3_NOTE("nop", name, P3_F2) :: P3_ARG(1, a), P3_ARG(2, b))
#define P3_PROBE3(name, a, b, c)							\
	P3_ASM(P3_NOTE("nop", name, P3_F3) :: P3_ARG(1, a), P3_ARG(2, b), P3_ARG(3, c))
#define P3_PROBE4(name, a, b, c, d)							\
	P3_ASM(P3_NOTE("nop", name, P3_F4) :: P3_ARG(1, a), P3_ARG(2, b), P3_ARG(3, c), P3_ARG(4, d))
#define P3_PROBE5(name, a, b, c, d, e)							\
	P3_ASM(P3_NOTE("nop", name, P3_F5) :: P3_ARG(1, a), P3_ARG(2, b), P3_ARG(3, c), P3_ARG(4, d), P3_ARG(5, e))
/* The first is a pointer, the others are read from memory by who looks on. */
#define P3_PROBE_M5(name, a, b, c, d, e)						\
	P3_ASM(P3_NOTE("nop", name, P3_F5) :: P3_ARG(1, a), P3_ARGM(2, b), P3_ARGM(3, c), P3_ARGM(4, d), P3_ARGM(5, e))

/* @counter += @n, 64 bits, which is a probe, too. Its arguments by P3_ARG() and P3_ARGM(); @f: P3_F and their number */
#ifdef __x86_64__
#define P3_PROBE_ADD(name, counter, n, f, ...)						\
	P3_ASM(P3_NOTE("addq %[n_], %[c_]", name, f) : [c_] "+m"(counter) : [n_] "er"((uint64_t)(n)), \
	       __VA_ARGS__ : "cc")
#else
#define P3_PROBE_ADD(name, counter, n, f, ...)						\
	do {										\
		(counter) += (n);							\
		P3_ASM(P3_NOTE("nop", name, f) :: __VA_ARGS__);				\
	} while (0)
#endif

#else

#define P3_PROBE1(name, a) ((void)(a))
#define P3_PROBE2(name, a, b) ((void)(a), (void)(b))
#define P3_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define P3_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#define P3_PROBE5(name, a, b, c, d, e) ((void)(a), (void)(b), (void)(c), (void)(d), (void)(e))
#define P3_PROBE_M5(name, a, b, c, d, e) ((void)(a))
#define P3_PROBE_ADD(name, counter, n, f, ...) ((counter) += (n))

#endif

/* Why a request found no place; what a copy went by. The number is the probe's argument. */
#define P3_DROPS(X) \
	X(PT, "no such portal index") X(AC, "access control") X(POLLED, "portal is polled") \
	X(EMPTY, "empty match list") \
	X(NOMATCH, "no entry matches") X(NOROOM, "matching entry without room or descriptor") \
	X(GONE, "its descriptor is gone or used up") X(INBOX, "no room in the inbox") X(NOWHERE, "no such process") \
	X(BROKEN, "unreadable message")
#define P3_WAYS(X) \
	X(SELF, "own memory") X(WINDOW, "window") X(CMA, "CMA") X(TOGETHER, "both ranks") X(INBOX, "inbox") \
	X(FRAME, "frame") X(SWAP, "exchange")
enum p3_drop {
#define X(name, text) P3_DROP_##name,
	P3_DROPS(X)
#undef X
	P3_DROP_MAX
};
enum p3_way {
#define X(name, text) P3_WAY_##name,
	P3_WAYS(X)
#undef X
	P3_WAY_MAX
};

#ifdef P3_TRACE
#include "p3l_trace.h"
#define P3_TRACING true		/* short cuts that note nothing are not for it */
#define P3_TRACED(what) p3_trace_##what
#define P3_TRACE_BEGAN(t) uint64_t t = p3_trace_now()
#define P3_TRACE_BEGAN_WITH(type, name, value) type name = (value)
#else
#define P3_TRACING false
#define P3_TRACE_BEGAN(t) do { } while (0)
#define P3_TRACE_BEGAN_WITH(type, name, value) do { } while (0)
#define P3_TRACED(what) do { } while (0)
#endif

#endif
