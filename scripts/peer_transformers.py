"""`transformers` as the peer of a benchmark: how long `generate` takes with a model of the same size. Knows no mtkit.

Run by the peer's interpreter: `python peer_transformers.py JSON`, where JSON gives batches of token ids (2 ends a source, 0
pads), the number of pieces, the beam and the length of each output. The model is MarianMT, which is the paper's Transformer,
with random weights; the outputs are forced to the length. Prints a JSON line with the seconds, and the version.
"""

import json
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def main() -> None:
    """Measures once, after a batch to warm up."""
    import torch
    import transformers

    given = json.loads(sys.argv[1])
    torch.manual_seed(1)
    sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in SIDE.items()}
    config = transformers.MarianConfig(
        vocab_size=given["pieces"],
        d_model=512,
        activation_function="relu",
        max_position_embeddings=512,
        scale_embedding=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
        **sides,
    )
    model = transformers.MarianMTModel(config).eval()
    batches = [padded(batch) for batch in given["batches"]]
    length = {"max_new_tokens": given["length"], "min_new_tokens": given["length"]}
    with torch.inference_mode():
        seconds = 0.0
        for number, (source, mask) in enumerate([batches[-1], *batches]):
            begin = time.perf_counter()
            found = model.generate(
                input_ids=source,
                attention_mask=mask,
                num_beams=given["beam"],
                do_sample=False,
                length_penalty=0.6,
                early_stopping=True,
                use_cache=True,
                **length,
            )
            assert found.shape == (len(source), given["length"] + 1), found.shape
            seconds += time.perf_counter() - begin if number else 0.0
    print(json.dumps({"seconds": seconds, "transformers": transformers.__version__, "torch": torch.__version__}))


SIDE = {"layers": 6, "ffn_dim": 2048, "attention_heads": 8}
"""Of encoder and decoder."""


def padded(batch: list[list[int]]) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Token ids [B, S] and where they are real."""
    import torch

    longest = max(map(len, batch))
    source = torch.tensor([tokens + [0] * (longest - len(tokens)) for tokens in batch])
    return source, (source != 0).long()


if __name__ == "__main__":
    main()
