/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The ranks of a node in one session: linked into Hydra's proxy in place of the setsid() of each rank.
 *
 * Linux schedules each session as a group of its own (CONFIG_SCHED_AUTOGROUP, unless a cgroup has its own rule), and
 * sched_yield() gives the core away within the group only. Ranks that share a core, each in a session, so get it back
 * from their yield until their group has had its share: milliseconds, in which the one they wait for does not run. What
 * Hydra wants of the session is that a signal reaches a rank's children; a process group does that. The proxy itself
 * leads a session, so the ranks have no controlling terminal, as before.
 */
#include <unistd.h>

pid_t __wrap_setsid(void);

pid_t __wrap_setsid(void)
{
    return setpgid(0, 0) == 0 ? getpid() : -1;
}
