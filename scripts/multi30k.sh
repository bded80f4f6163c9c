#!/usr/bin/env bash
# Image captions from English to German (Multi30k) on a laptop: one hour on two CPU cores, scored on test_2016_flickr.
#   scripts/multi30k.sh            with the hub's copy of the data
#   scripts/multi30k.sh FOLDER     with train|val|test_2016_flickr.{en,de}.gz in FOLDER (data/task1/raw of multi30k/dataset)
set -euo pipefail
cd "$(dirname "$0")/.."

files=()
if [ $# -gt 0 ]; then
    for pair in train:train validation:val test:test_2016_flickr; do
        files+=(--set "data.${pair%%:*}.source=$1/${pair#*:}.en.gz" --set "data.${pair%%:*}.target=$1/${pair#*:}.de.gz")
    done
fi
[ -f data/multi30k/report.json ] || mtkit prepare --config multi30k.yaml "${files[@]}"
if [ -d runs/multi30k ]; then
    mtkit train --config multi30k.yaml --resume
else
    mtkit train --config multi30k.yaml
fi
mtkit evaluate --model runs/multi30k
