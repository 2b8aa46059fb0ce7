#!/bin/sh
# cpu.sh ASSAY ROOT STORE: the plain PyTorch candidates of bench/beside on the CPU. What is expected there where it is
# not what a GPU says stands in a line `# beside: expect-cpu`. 77: PyTorch is not there (torch.sh).
set -eu
. "$2/tests/torch.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
for file in "$2"/bench/beside/torch/*.py; do
  expected=$(sed -n 's/^# beside: expect-cpu //p' "$file")
  sed "${expected:+s/^# assay: expect .*/# assay: expect $expected/}" "$file" >"$folder/$(basename "$file")"
done
"$2/tests/corpus.sh" "$1" "$folder" "$3" --device cpu
