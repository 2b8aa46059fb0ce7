#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# linalg.sh ASSAY ROOT: systems of equations and determinants, and a cut to a rank. Honest elimination passes; with factors of 8 bits,
# without pivots, with a wrong sign or a term left out it does not. About 4 s.
set -eu
assay=$1 folder=$2/tests/program/linalg
judge() { # VERDICT [OPTION...]
  wanted=$1
  shift
  code=0
  said=$("$assay" judge "$folder/solve.onnxtxt" "$folder/solve.c" --no-timing --no-store "$@" 2>&1) || code=$?
  verdict=$(echo "$said" | sed -n 's/^linalg[^ ]* *[^ ]* *\([a-z_]*\).*/\1/p')
  case "|$wanted|" in
  *"|$verdict|"*) ;;
  *)
    echo "$* is $verdict (exit code $code), not $wanted:"
    echo "$said"
    exit 1
    ;;
  esac
}
judge pass
judge pass
judge 'low_precision|wrong_value' --define BF16_PRODUCTS
judge 'low_precision|wrong_value' --define NO_PIVOTS
judge wrong_value --define NO_SIGN
judge wrong_value --define NO_LAST
# A cut to a rank where the singular values next to it are nearly equal: one error turns all elements, and was refused.
"$assay" judge kernelbenchx/LinearAlgebra/low_rank_svd_approximation "$2/tests/kernelbenchx/low_rank_svd.c" --device cpu --no-timing --no-store \
  --seed 4248756696392348338 --secret 4082471080955002102 | grep -q "low_rank_svd.c  pass" || { echo "low_rank_svd.c is refused at its known draw"; exit 1; }
