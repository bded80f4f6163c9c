#!/usr/bin/env bash
# "Attention Is All You Need" on WMT14 English-German, from nothing to a signed score on newstest2014.
#   scripts/wmt14_en_de.sh base|big [DEVICES]
# May be stopped and repeated: it goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/.."

size=${1:?base or big} devices=${2:-8}
case $size in base) last=5 ;; big) last=20 ;; *) echo "Error: $size is neither base nor big" >&2; exit 2 ;; esac

[ -f data/wmt14_en_de/report.json ] || mtkit prepare --config "$size.yaml" --workers "$(nproc)"
resume=()
[ ! -d "runs/$size" ] || resume=(--resume)
mtkit train --config "$size.yaml" --devices "$devices" "${resume[@]}" --set training.precision=bfloat16
[ -d "runs/$size-average" ] || mtkit average "runs/$size" --last "$last"
mtkit evaluate --model "runs/$size-average"
