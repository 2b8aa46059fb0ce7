#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that no module includes a module it must not know: the wing of truth (graph ... task) and the wing of
# execution (sandbox ... runner) meet in the judge and nowhere below it.
set -eu
cd "$1/src"
status=0
allow() { # allow MODULE "modules it may include"
  module=$1
  shift
  grep -rhoE '^#include "[a-z_]+/' "$module" 2>/dev/null | sed 's/.*"//; s,/.*,,' | sort -u | while read -r used; do
    case " $module $* " in
    *" $used "*) ;;
    *) echo "src/$module includes $used/, which it must not know:"; grep -rlE "^#include \"$used/" "$module"; exit 1 ;;
    esac
  done || status=1
}
allow base assay
allow stats base assay
allow graph base
allow ops base graph
allow onnx base graph ops
# The oracle, the inputs and the comparison compute through compute/compute.h, in the judge's own context.
allow compute base
allow oracle base graph ops compute
allow compare base compute
allow task base graph ops onnx oracle compare compute assay
allow plan base
allow device base plan compute
allow sandbox base
allow toolchain base plan compute device sandbox assay
# The rooms of toolchain: what each may include of the others. Only the toolchains themselves (the files that stand in no
# room) see all of them; toolchain.h is what a build gives back.
room() { # room ROOM "rooms it may include"
  room=$1
  shift
  grep -rhoE '^#include "toolchain/[^"]+"' "toolchain/$room" | sed 's,.*"toolchain/,,; s,".*,,' | sort -u | while read -r used; do
    case "$used" in */*) used=${used%%/*} ;; esac
    case " $room $* " in
    *" $used "*) ;;
    *) echo "src/toolchain/$room includes toolchain/$used, which it must not know"; exit 1 ;;
    esac
  done || status=1
}
room directive
room record
room recorder record
room lift record
room vendor record
room builder directive toolchain.h
allow runner base plan compute device sandbox assay
allow store base assay
allow judge base stats graph ops onnx oracle compare task plan compute device sandbox toolchain runner store assay
allow api base stats graph ops onnx oracle compare task plan compute device sandbox toolchain runner store judge assay
allow score base stats assay
allow draw base stats score
allow report base stats score draw graph ops onnx oracle task store judge assay
allow model base
allow method base graph ops onnx oracle task store judge report model assay
allow tune base stats graph ops onnx oracle task plan toolchain store judge score assay
allow serve base store assay
allow site base stats score draw task report store assay graph ops onnx oracle
allow cli base stats graph ops onnx oracle compare task plan compute device sandbox toolchain runner store judge report model method tune score draw serve site api assay
# Within the judge: subjects, and what they are made of, know their environment (judge/subject.h) and return what they
# find. Only the steps of the road (judge.c) know the session and the verdict.
if grep -lE '#include "judge/session.h"|struct (session|assay_verdict|assay_job)\b' judge/subject*.[ch] judge/device_*.[ch] \
  judge/workbench.[ch] judge/gpu_probe.[ch] judge/planning.[ch] judge/stamps.[ch] judge/timing.[ch]; then
  echo "these see the session; a subject returns what it finds"
  status=1
fi
if grep -rnE '\b(exit|getenv|printf|puts)\(' --include=*.c . | grep -vE '^\./(cli|runner/main_)' | grep -vE 'snprintf|fprintf|buf_printf|arena_printf|buf_puts|v?asprintf|_exit\(' | grep -vE '^\S+\s*//' ; then
  echo "printing, exit and getenv belong to src/cli"
  status=1
fi
if grep -rnE 'fast-math|Ofast' ../CMakeLists.txt | grep -vE 'no-fast-math'; then
  echo "the oracle must never be built with fast-math"
  status=1
fi
[ $status = 0 ] && echo "layers: every include runs the right way"
exit $status
