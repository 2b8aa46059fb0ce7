#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A model for the tests: replies by the number of the step, from the files of a folder. It counts how often it was asked.
# usage: make_model.sh FOLDER COUNT
cat >"$2/prompt.$ASSAY_STEP"
echo "$ASSAY_TASK $ASSAY_STEP" >>"$2/asked"
[ ! -e "$2/slow" ] || sleep "$(cat "$2/slow")"
name=$ASSAY_STEP
[ -e "$1/$name" ] || name=last
cat "$1/$name"
