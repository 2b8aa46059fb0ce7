#!/bin/sh
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
# graph's verifier reads operator rows: the only step upwards, in one file.
allow graph base ops
allow ops base graph
allow onnx base graph ops
# The oracle, the inputs and the comparison compute through device/compute.h, in the judge's own context.
allow oracle base graph ops device
allow compare base graph device
allow task base graph ops onnx oracle compare device assay
allow plan base
allow device base plan
allow sandbox base
allow toolchain base plan device sandbox assay
allow runner base graph plan device sandbox assay
allow store base assay
allow judge base stats graph ops onnx oracle compare task plan device sandbox toolchain runner store assay
allow report base stats graph ops onnx oracle task store judge assay
allow cli base stats graph ops onnx oracle compare task plan device sandbox toolchain runner store judge report assay
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
