/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_image.h - the executable and libraries of this process */
#ifndef SMAP_IMAGE_H
#define SMAP_IMAGE_H

#include "smap_int.h"

void smap_images_publish(void);	/* into the own control page, before the file is handed out */

#endif
