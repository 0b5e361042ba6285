/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_config.h - settings of the running library */
#ifndef DART_CONFIG_H_
#define DART_CONFIG_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	int log_enabled;	/* 0, the default: nothing is said but errors; this library has no more to say */
} dart_config_t;

/* *@config: the library's own, which may be written. Any time; does not block. */
void dart_config(dart_config_t **config);

#ifdef __cplusplus
}
#endif
#endif
