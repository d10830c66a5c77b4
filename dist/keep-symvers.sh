#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# DKMS runs this after it built the modules and throws the build away then.
# Modules that use dxk need its Module.symvers; beside the built modules it
# goes when they go.
exec cp Module.symvers "$1/"
