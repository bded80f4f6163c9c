"""eole as the peer of a benchmark: its environment, mtkit's text and settings in its words, its speed.

Comes in: data that mtkit prepared, sizes in mtkit's words. Goes out: a `Speed` from eole's own log, in which the second of
the two `tok/s` is what we want: target tokens without padding, end token included, over the time since the report before
(data, validation and checkpoints included, of which only the first falls between two reports here).
"""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml
from measuring import Speed, fail, peer_environment, run

from mtkit.data.folder import PreparedData
from mtkit.data.vocabulary import BOS, EOS, PAD, UNK

PEER = "eole==0.6.4"
UNDECLARED = "aiohttp"  # eole's command line imports it, its package does not require it
WINDOW = 4  # updates between two reports of a run; the first has the start-up in it
PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}  # mtkit's and eole's names
SPECIALS = {"pad_token": PAD, "bos_token": BOS, "decoder_start_token": BOS, "eos_token": EOS, "unk_token": UNK}
REPORT = re.compile(r"bsz: *\d+/ *(\d+)/ *\d+; *\d+/ *(\d+) tok/s")
DIFFERENCES = (
    "norms: mtkit post; mtkit_like_eole and eole pre (eole's decoder has no other)",
    "dropout inside feed-forward layers: mtkit none; mtkit_like_eole and eole as elsewhere (eole has one rate for both)",
    "batches: eole counts pairs x the longest sequence with two control tokens, sorts by source, then target length, and "
    "leaves out repeated source lines; its source has no end token",
    "data: eole prepares an epoch before its first update, outside the measured time; mtkit prepares batches as it trains",
    "eole's own: unfused Adam, attention written out on the CPU, an accuracy for each batch, GradScaler with bfloat16",
)


def peer_python(folder: Path) -> Path:
    """The interpreter of an environment with the peer and mtkit's torch, made in `folder` if it is not there."""
    return peer_environment(folder, PEER, UNDECLARED)


def peer_versions(python: Path) -> str:
    """`eole==x torch==y`, if the interpreter has the right peer and its command line can be imported."""
    ask = (
        "import eole.bin.main, importlib.metadata as m; print(*(f'{name}=={m.version(name)}' for name in ('eole', 'torch')))"
    )
    versions = run(f"importing {PEER} in {python}", [python, "-W", "ignore", "-c", ask]).splitlines()[-1]
    if PEER not in versions.split():
        fail(f"{python} has {versions}, not {PEER}")
    return versions


def write_for_peer(data: PreparedData, folder: Path) -> None:
    """What mtkit trains on as text for eole: one pair a line in pieces, and the vocabulary in order."""
    pieces, pairs = data.vocabularies().target.pieces, data.pairs("train")
    (folder / "pieces.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    for side, tokens in (("source", pairs.source), ("target", pairs.target)):
        lines = (" ".join(pieces[token] for token in tokens(i)) for i in range(len(pairs)))
        (folder / f"pieces.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def eole_speed(
    python: Path, data: PreparedData, model: Mapping[str, float], tokens: int, precision: str, updates: int, threads: int
) -> Speed:
    """One run of `eole train` with the same model and optimisation in eole's words."""
    folder, pieces = data.folder.parent, data.vocabularies().target.pieces
    text = {"path_src": str(folder / "pieces.source"), "path_tgt": str(folder / "pieces.target"), "transforms": []}
    vocabulary = {"src_vocab": str(folder / "pieces.txt"), "src_vocab_size": len(pieces), "vocab_size_multiple": 1}
    specials = {name: pieces[token] for name, token in SPECIALS.items()}
    sizes = {"layers": model["encoder_layers"], "hidden_size": model["d_model"], "transformer_ff": model["d_ff"]}
    biases = {"add_qkvbias": True, "add_ffnbias": True, "generator_bias": False}
    tying = {"share_embeddings": True, "share_decoder_embeddings": True}
    embeddings = {"word_vec_size": model["d_model"], "position_encoding": True}
    batches = {"batch_type": "tokens", "batch_size": tokens, "normalization": "tokens"}
    feed = {"bucket_size": data.report.splits["train"].lines, "num_workers": 0}  # workers would take the cores
    dropout = {"dropout": [model["dropout"]], "attention_dropout": [0.0]}
    adam = {"optim": "adam", "adam_beta2": 0.98, "adam_eps": 1e-9, "max_grad_norm": 0.0}
    schedule = {"learning_rate": 1.0, "decay_method": "noam", "warmup_steps": 4000, "train_steps": updates + WINDOW}
    never = {"save_checkpoint_steps": 0, "valid_steps": 10**6}
    others = {"compute_dtype": PRECISIONS[precision], "label_smoothing": 0.1, "param_init_method": "xavier_uniform"}
    training = {**batches, **feed, **dropout, **adam, **schedule, **never, **others}
    architecture = {"architecture": "transformer", **sizes, "heads": model["heads"], **biases, **tying}
    config = {"seed": 1, "report_every": WINDOW, "share_vocab": True, **vocabulary, **specials, "data": {"train": text}}
    with tempfile.TemporaryDirectory(dir=folder) as runs:
        path = Path(runs) / "eole.yaml"
        config["model"] = {**architecture, "embeddings": embeddings}
        config["training"] = {**training, "model_path": str(Path(runs) / "model")}
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        log = run("eole train", [python, "-m", "eole.bin.main", "train", "--config", path], threads)
    return eole_reports(log, updates)


def eole_reports(log: str, updates: int) -> Speed:
    """What eole's log says about the last `updates` updates: it gives the mean target tokens of a batch and their rate."""
    steady = [(int(tokens) * WINDOW, int(rate)) for tokens, rate in REPORT.findall(log)[1:]]
    if len(steady) * WINDOW != updates:
        fail(f"eole train reported {len(steady)} times after its start-up, not {updates // WINDOW}", log)
    return Speed(sum(tokens for tokens, _ in steady), sum(tokens / rate for tokens, rate in steady))
