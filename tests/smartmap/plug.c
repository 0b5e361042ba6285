/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* plug.c - a library that t_harm loads and closes */
int plug_value[1024] = { 7 };
int plug_zero[4096];
