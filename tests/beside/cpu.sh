#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cpu.sh ASSAY ROOT STORE: the plain PyTorch candidates of bench/beside on the CPU. Where the CPU's verdict differs from
# a GPU's, a line `# beside: expect-cpu` has it. Exit code 77: PyTorch is not installed (tests/support/torch.sh).
set -eu
. "$2/tests/support/torch.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
for file in "$2"/bench/beside/torch/*.py; do
  expected=$(sed -n 's/^# beside: expect-cpu //p' "$file")
  sed "${expected:+s/^# assay: expect .*/# assay: expect $expected/}" "$file" >"$folder/$(basename "$file")"
done
"$2/tests/program/corpus.sh" "$1" "$folder" "$3" --device cpu
