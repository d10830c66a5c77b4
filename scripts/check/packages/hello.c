/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest program that can be right or wrong: what does the module say of
 * itself? As C and as C++.
 */
#ifdef __cplusplus
#include <dx.hpp>
#endif
#include <dx.h>
#include <dxk.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
	struct dxk_version version;
	int ctl = dxk_open();
	int err = ctl < 0 ? ctl : dxk_version(ctl, &version);

	if (err < 0) {
		fprintf(stderr, "%s: %s\n", DXK_DEVICE, strerror(-err));
		return 1;
	}
	printf("abi %u\n", version.abi);
	return version.abi != DXK_ABI_VERSION;
}
