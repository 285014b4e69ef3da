"""python -m rlanything_trainer.bench: one update of an adapter on random weights of a released model's shape, as one line of JSON."""

import argparse
import json

import numpy as np
import torch
from transformers import AutoModelForCausalLM, Qwen2Config

from .batch import Sample
from .cli import TARGETS
from .cost import measured
from .group import Group
from .model import Trained
from .update import update

QWEN = {"max_position_embeddings": 32_768, "rms_norm_eps": 1e-6, "rope_theta": 1_000_000.0}
SHAPES = {
    "tiny": {
        **{"hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 4},
        **{"num_key_value_heads": 2, "vocab_size": 512, "tie_word_embeddings": True},
    },
    "0.5b": {
        **{"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14},
        **{"num_key_value_heads": 2, "vocab_size": 151_936, "tie_word_embeddings": True},
    },
    "7b": {
        **{"hidden_size": 3584, "intermediate_size": 18_944, "num_hidden_layers": 28, "num_attention_heads": 28},
        **{"num_key_value_heads": 4, "vocab_size": 152_064, "tie_word_embeddings": False},
    },
}
"""Of config.json of Qwen2.5-0.5B and Qwen2.5-7B."""

OPTIONS = {
    **{"learningRate": 1e-4, "weightDecay": 0.0, "beta1": 0.9, "beta2": 0.999, "clipNorm": 1.0, "updates": 1},
    **{"clipLow": 0.2, "clipHigh": 0.2, "dualClip": None, "klWeight": 0.01, "klLimit": None, "aggregate": "batch"},
}
RANK = 16


def main():
    parser = argparse.ArgumentParser("rlanything_trainer.bench", description=__doc__)
    parser.add_argument("--shape", choices=tuple(SHAPES), required=True)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=512, help="of a sample; the second half of them is trained")
    parser.add_argument("--token-budget", type=int, help="tokens of a forward pass; all samples where not given")
    parser.add_argument("--checkpointing", action="store_true", help="compute activations again in the backward pass")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()

    lora = {"r": RANK, "lora_alpha": 2 * RANK, "target_modules": TARGETS.split(",")}
    trained = Trained("random", lora=lora, group=Group(options.device), checkpointing=options.checkpointing)
    config = Qwen2Config(**QWEN, **SHAPES[options.shape])
    torch.manual_seed(1)
    # Made where they are used: drawing seven billion numbers takes a processor minutes.
    with trained.device:
        whole = AutoModelForCausalLM.from_config(config, dtype=trained.half)
    trained.adopt(whole, None, 1)

    samples = [_sample(i, options.tokens, config.vocab_size) for i in range(options.samples)]
    budget = options.token_budget or options.samples * options.tokens
    # A device's first pass takes longer than all others.
    update(trained, samples[:1], OPTIONS, (1, 1), token_budget=budget)
    (figures, *_), cost = measured(
        trained.device, samples, lambda: update(trained, samples, OPTIONS, (1, 2), token_budget=budget)
    )
    told = {
        **{"shape": options.shape, "device": _name(trained.device), "dtype": str(trained.half).removeprefix("torch.")},
        "parameters": sum(one.numel() for one in whole.parameters() if not one.requires_grad),
        "trained": sum(one.numel() for one in trained.parameters().values()),
        **{"samples": figures["samples"], "tokens": options.samples * options.tokens, **cost},
    }
    print(json.dumps(told))


def _sample(number, length, vocabulary):
    random = np.random.default_rng(number)
    mask = (np.arange(length) >= length // 2).astype(np.uint8)
    return Sample(
        id=str(number),
        tokens=random.integers(0, vocabulary, length, dtype=np.int32),
        mask=mask,
        logprobs=np.full(length, -np.log(vocabulary), np.float32) * mask,
        advantages=random.standard_normal(length).astype(np.float32) * mask,
        reference=None,
        allowed_offsets=None,
        allowed=None,
    )


def _name(device):
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


if __name__ == "__main__":
    main()
