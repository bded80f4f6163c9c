#!/usr/bin/env bash
# More training text from text in the target language alone (Sennrich et al. 2016), tagged (Caswell et al. 2019).
#   scripts/back_translation.sh BACKWARD_RUN MONOLINGUAL CONFIG NAME
#   scripts/back_translation.sh runs/de_en news.de.gz my_en_de.yaml my_en_de_bt
# BACKWARD_RUN translates from the target language into the source language (train it with data.source_language and
# data.target_language exchanged). CONFIG is that of the forward model. The translations become the source side of a further
# corpus: tagged, so that the model can tell them from real text, and weighted, so that there are not too many of them.
# Makes data/NAME and runs/NAME. May be stopped and repeated. (A config with a data.train.more of its own: add the corpus to it.)
set -euo pipefail

backward=${1:?run of the backward model} monolingual=${2:?text in the target language} config=${3:?config} name=${4:?name}
if grep -Eq '(^|[ {])more:' "$config"; then
    echo "Error: $config: its data.train.more would be replaced: add the translations there by hand, and prepare and train with it" >&2
    exit 2
fi
weight=${WEIGHT:-1.0} # WEIGHT=0.5: half of the back-translations in each epoch, others in the next

mkdir -p data
translated=data/$name.back-translated.txt
[ -f "$translated" ] || mtkit translate --model "$backward" --input "$monolingual" --output "$translated"
[ -f "data/$name/report.json" ] || mtkit prepare --config "$config" --output "data/$name" --workers "$(nproc)" \
    --set "data.train.more=[{source: '$translated', target: '$monolingual', tag: <bt>, weight: $weight}]"
resume=()
[ ! -d "runs/$name" ] || resume=(--resume)
mtkit train --config "$config" --data "data/$name" --run "runs/$name" "${resume[@]}"
