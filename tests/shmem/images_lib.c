/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* images_lib.c - for t_images.sh: a library with data of its own */
long in_library[20] = { 1 };
static long hidden[20];

long *hidden_of_library(void);
long *hidden_of_library(void)
{
	return hidden;
}
