#!/usr/bin/env bash
# COMET of translations, for `mtkit evaluate --import-scores`. COMET cannot be installed beside mtkit (it asks for other
# versions of what datasets needs), so it gets an environment of its own, .venv-comet, made on first use; that and its model
# are downloads of some gigabytes (PYTHON names the interpreter, one that numpy 1 has). The scores are those of comet-score,
# sentence by sentence, with the sha256 of each translation, so that they are never shown beside another; their signature
# names the source and the reference by the same.
#
#   scripts/comet.sh SOURCE REFERENCE SCORES.json HYPOTHESIS...
#   mtkit evaluate --hypothesis HYPOTHESIS... --source SOURCE --reference REFERENCE --import-scores SCORES.json
#
# Of a run, the HYPOTHESIS is what `mtkit evaluate` kept in runs/NAME/translations. COMET_MODEL names another model
# (default Unbabel/wmt22-comet-da), COMET_GPUS the number of GPUs (default 0).
set -euo pipefail

if [ $# -lt 4 ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
source=$1 reference=$2 scores=$3
shift 3
model=${COMET_MODEL:-Unbabel/wmt22-comet-da}
environment=${COMET_VENV:-$(dirname "$0")/../.venv-comet}

for file in "$source" "$reference" "$@"; do
    case $file in *.gz) echo "Error: $file: comet-score reads plain files only: unpack it first" >&2; exit 2 ;; esac
    [ -f "$file" ] || { echo "Error: $file: no such file" >&2; exit 2; }
    lines=$(grep -c '' "$file" || true) expected=$(grep -c '' "$source" || true) # a last line without its end counts
    [ "$lines" = "$expected" ] || { echo "Error: line counts differ: $source $expected lines, $file $lines lines" >&2; exit 2; }
done
if [ ! -x "$environment/bin/comet-score" ]; then
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" install --quiet 'unbabel-comet==2.2.7'
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$environment/bin/comet-score" --sources "$source" --translations "$@" --references "$reference" --model "$model" \
    --gpus "${COMET_GPUS:-0}" --only_system --to_json "$work/comet.json" >&2
"$environment/bin/python" - "$work/comet.json" "$work/scores.json" "$model" "$source" "$reference" "$@" <<'END'
import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path


def lines(name):
    raw = Path(name).read_bytes().removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")
    return [line.removesuffix(b"\r").decode("utf-8") for line in raw]


found, target, model, source, reference, *hypotheses = sys.argv[1:]
content = json.loads(Path(found).read_text(encoding="utf-8"))
systems = []
for name in hypotheses:
    rows = content[name]
    for key, file in (("src", source), ("ref", reference), ("mt", name)):  # COMET may see other lines than there are
        if [row[key].removeprefix("\ufeff") for row in rows] != [line.strip() for line in lines(file)]:
            sys.exit(f"Error: {file}: comet-score did not read its lines as they are: look for carriage returns inside lines")
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines(name)).encode("utf-8")).hexdigest()
    systems.append({"name": name, "sha256": digest, "scores": [row["COMET"] for row in rows]})
digests = (hashlib.sha256("".join(f"{line}\n" for line in lines(name)).encode("utf-8")) for name in (source, reference))
texts = "|".join(f"{name}:{digest.hexdigest()[:12]}" for name, digest in zip(("src", "ref"), digests, strict=True))
signature = f"{model}|unbabel-comet:{version('unbabel-comet')}|{texts}"
Path(target).write_text(json.dumps({"metric": "comet", "signature": signature, "systems": systems}), encoding="utf-8")
END
mv "$work/scores.json" "$scores"
echo "COMET of $# translation(s) is in $scores" >&2
