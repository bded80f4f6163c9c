#!/usr/bin/env bash
# The whole work on a generated English-German corpus: prepare, train, evaluate, translate. About four minutes on two cores.
# `make demo` runs it in the project's environment; it may be repeated, and begins anew each time.
set -euo pipefail
cd "$(dirname "$0")/.."

corpus=data/demo-corpus run=runs/demo
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
do_it() { say "\$ $*"; "$@"; }

do_it python scripts/demo_corpus --output "$corpus"
do_it mtkit prepare --config demo.yaml --overwrite
rm -rf "$run"
do_it mtkit train --config demo.yaml
do_it mtkit evaluate --model "$run"

say "Ten sentences that the model has never seen: source, its translation, the reference"
awk 'NR % 50 == 7' "$corpus/test.en" >"$run/ten.en"
awk 'NR % 50 == 7' "$corpus/test.de" >"$run/ten.de"
mtkit translate --model "$run" --input "$run/ten.en" --output "$run/ten.translated" 2>/dev/null
paste "$run/ten.en" "$run/ten.translated" "$run/ten.de" |
    awk -F '\t' '{ printf "  source      %s\n  translation %s\n  reference   %s\n\n", $1, $2, $3 }'

say "What to try next (the corpus is generated: keep to everyday words)"
cat <<'END'
  . .venv/bin/activate                                      so that `mtkit` is found
  echo "My sister reads an old book." | mtkit translate     a sentence of your own
  mtkit train --config demo.yaml --run runs/deep --set model.encoder_layers=4     a first experiment
END
