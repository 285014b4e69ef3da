"""What transformers and PEFT make of small models, for the conformance tests.

reference.py make DIR     writes model folders and adapters below DIR, and DIR/expected.json with what they give
reference.py ask          answers a JSON object on stdin with one on stdout: {"logits": FOLDER, "ids": [...]},
                          {"adapter": FOLDER, "base": FOLDER, "ids": [...]}, {"tokenize": FOLDER, "texts": [...], "special": bool},
                          {"decode": FOLDER, "ids": [[...]]}, {"render": FOLDER, "chats": [{"messages", "tools"}]} or
                          {"greedy": FOLDER, "ids": [...], "count": N}, {"logprobs": FOLDER, "ids": [[...]]} or
                          {"grpo": FOLDER, "samples": [{"ids", "first", "advantage", "old", "reference"}], "options": GRPOConfig's} by name
"""
import json
import os
import sys
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

from transformers import AutoTokenizer, PreTrainedTokenizerFast, logging  # noqa: E402

logging.set_verbosity_error()

SIZES = dict(
    vocab_size=320, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=1e-6, bos_token_id=None, eos_token_id=1,
    pad_token_id=0, initializer_range=0.3,
)
# name -> model type, further keys of the config, dtype, size of a shard
MODELS = {
    "qwen2": ("qwen2", dict(tie_word_embeddings=False), "float32", None),
    "qwen2-tied": ("qwen2", dict(tie_word_embeddings=True, rope_theta=1e6), "float32", None),
    "qwen2-sharded": ("qwen2", dict(tie_word_embeddings=True), "float32", "40KB"),
    "qwen25-bf16": ("qwen2", dict(tie_word_embeddings=True, rope_theta=1e6, use_sliding_window=False, max_window_layers=3), "bfloat16", None),
    "qwen3": ("qwen3", dict(tie_word_embeddings=True, head_dim=16, rope_theta=1e6), "float32", None),
    "qwen3-bias-sharded": ("qwen3", dict(tie_word_embeddings=False, head_dim=16, attention_bias=True), "float32", "40KB"),
    "llama": ("llama", dict(tie_word_embeddings=False), "float32", None),
    "smollm2-like": (
        "llama",
        dict(tie_word_embeddings=True, hidden_size=36, num_attention_heads=9, num_key_value_heads=3, rope_theta=1e5, rms_norm_eps=1e-5),
        "float32",
        None,
    ),
    "llama-bias-f16": ("llama", dict(tie_word_embeddings=True, attention_bias=True, rope_theta=1e5), "float16", None),
}
TEXTS = [
    "Hello, world!", "  two  spaces\n\n\tand a tab", "don't stop: x=-5 1234567", "äöü 漢字 🙂 e\u0301", "",
    "<|im_start|>user\nlook<|im_end|>", "a" * 200, "\u0000\u00a0\u200b",
]
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def adapters():
    """Kinds of adapters by name: what PEFT is asked for."""
    from peft import AdaLoraConfig, IA3Config, LoHaConfig, LoraConfig

    def lora(**more):
        return LoraConfig(**{"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM", **more})

    return {
        "plain": lora(),
        "all-linear": lora(target_modules="all-linear"),
        "every-module": lora(target_modules=ALL),
        "one-module": lora(target_modules=["down_proj"]),
        "rank-1": lora(r=1),
        "rank-stabilised": lora(use_rslora=True),
        "alpha-3": lora(lora_alpha=3),
        "dropout": lora(lora_dropout=0.1),
        "gaussian": lora(init_lora_weights="gaussian"),
        "orthogonal": lora(init_lora_weights="orthogonal"),
        "pattern": lora(target_modules=r".*\.1\.(self_attn\.o_proj|mlp\.up_proj)"),
        "full-names": lora(target_modules=["model.layers.0.self_attn.q_proj", "model.layers.2.mlp.down_proj"]),
        "excluded": lora(target_modules=ALL, exclude_modules=["o_proj"]),
        "some-layers": lora(layers_to_transform=[0, 2], layers_pattern="layers"),
        "rank-pattern": lora(target_modules=ALL, rank_pattern={"q_proj": 2}),
        "alpha-pattern": lora(target_modules=ALL, alpha_pattern={"q_proj": 2}),
        "dora": lora(use_dora=True),
        "pissa": lora(init_lora_weights="pissa"),
        "olora": lora(init_lora_weights="olora"),
        "bias": lora(bias="lora_only"),
        "saved-modules": lora(modules_to_save=["norm"]),
        "embedding": lora(target_modules=["embed_tokens", "q_proj"]),
        "new-tokens": lora(trainable_token_indices=[3, 4]),
        "loha": LoHaConfig(r=4, alpha=8, target_modules=["q_proj"], task_type="CAUSAL_LM"),
        "ia3": IA3Config(target_modules=["q_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"),
        "adalora": AdaLoraConfig(init_r=4, target_r=2, total_step=10, target_modules=["q_proj"], task_type="CAUSAL_LM"),
    }


# How Qwen2's tokenizer cuts text: AutoTokenizer does so for every model of that type.
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def make_tokenizer(folder):
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(text, special=True, normalized=False) for text in ("<|endoftext|>", "<|im_end|>", "<|im_start|>")]
    trainer = trainers.BpeTrainer(vocab_size=310, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(["the cat and the dog look at the other dog", "take the mug from the table and put it there"] * 20, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    fast.save_pretrained(folder)


def sample_ids(length, seed):
    """The same in every run: a linear congruential generator."""
    ids, state = [], seed
    for _ in range(length):
        state = (1103515245 * state + 12345) % 2**31
        ids.append(3 + (state >> 8) % 300)
    return ids


def load(folder):
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def last_logits(model, ids):
    import torch

    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().tolist()


def token_logprobs(model, ids):
    """Of each token but the first."""
    import torch

    with torch.no_grad():
        logs = model(torch.tensor([ids])).logits[0, :-1].double().log_softmax(-1)
    return logs.gather(-1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()


def greedy(model, ids, count):
    import torch

    with torch.no_grad():
        out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), max_new_tokens=count, do_sample=False)
    return out[0, len(ids):].tolist()


def training_step(folder, ids, first, rate):
    """Mean cross-entropy of ids[first:], its gradient's norm, and some weights after a step of AdamW: in float64."""
    import torch

    model = load(folder).double().train()
    tokens = torch.tensor([ids])
    logits = model(tokens).logits[0, first - 1:-1]
    loss = torch.nn.functional.cross_entropy(logits, tokens[0, first:])
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    name = "model.layers.1.mlp.up_proj.weight"
    return {"loss": loss.item(), "norm": norm.item(), "name": name, "after": dict(model.named_parameters())[name].flatten()[:64].tolist()}


def grpo(folder, samples, options):
    """Loss of TRL's GRPOTrainer on completions `ids[first:]`, and the norm of its gradient: in float64, where prompts of unlike length would give NaN."""
    import tempfile

    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    def padded(read, value):
        rows = [read(one) for one in samples]
        longest = max(map(len, rows))
        return [row + [value] * (longest - len(row)) for row in rows]

    with tempfile.TemporaryDirectory() as out:
        args = GRPOConfig(
            output_dir=out, use_cpu=True, bf16=False, report_to=[], gradient_checkpointing=False, temperature=1.0,
            per_device_train_batch_size=len(samples), num_generations=len(samples), use_bias_correction_kl=False, **options,
        )
        trainer = GRPOTrainer(
            load(folder).double(), lambda completions, **_: [0.0] * len(completions), args,
            Dataset.from_list([{"prompt": "a"}]), processing_class=AutoTokenizer.from_pretrained(folder),
        )
        model = trainer.model.double().train()
        trainer.current_gradient_accumulation_steps = 1
        inputs = {
            "prompt_ids": torch.tensor(padded(lambda one: one["ids"][: one["first"]], 0)),
            "prompt_mask": torch.tensor(padded(lambda one: [1] * one["first"], 0)),
            "completion_ids": torch.tensor(padded(lambda one: one["ids"][one["first"] :], 0)),
            "completion_mask": torch.tensor(padded(lambda one: [1] * (len(one["ids"]) - one["first"]), 0)),
            "advantages": torch.tensor([one["advantage"] for one in samples], dtype=torch.float64),
            "old_per_token_logps": torch.tensor(padded(lambda one: one["old"], 0.0), dtype=torch.float64),
            "ref_per_token_logps": torch.tensor(padded(lambda one: one["reference"], 0.0), dtype=torch.float64),
            "num_items_in_batch": torch.tensor(sum(len(one["old"]) for one in samples)),
        }
        loss = trainer.compute_loss(model, inputs)
        loss.backward()
        norm = torch.sqrt(sum(one.grad.square().sum() for one in model.parameters() if one.grad is not None))
        return {"loss": loss.item(), "norm": norm.item()}


def make(root):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.set_num_threads(1)
    ids = sample_ids(24, 7)
    expected = {"ids": ids, "models": {}, "adapters": {}, "texts": TEXTS}
    for name, (kind, more, dtype, shard) in MODELS.items():
        torch.manual_seed(1)
        config = AutoConfig.for_model(kind, **{**SIZES, **more})
        model = AutoModelForCausalLM.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:  # norms and biases that matter
                    parameter.add_(0.3 * torch.randn_like(parameter))
        folder = os.path.join(root, name)
        model.to(getattr(torch, dtype)).save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
        make_tokenizer(folder)
        loaded = load(folder)
        expected["models"][name] = {
            "logits": last_logits(loaded, ids),
            "greedy": greedy(loaded, ids, 12),
            "step": training_step(folder, ids, 10, 1e-3),
            "tokenized": [AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False)["input_ids"] for text in TEXTS],
            "files": sorted(os.listdir(folder)),
        }
    try:
        from peft import get_peft_model
    except ImportError:
        expected["adapters"] = None
    else:
        base = os.path.join(root, "qwen2")
        for name, config in adapters().items():
            torch.manual_seed(2)
            model = get_peft_model(load(base), config)
            with torch.no_grad():
                for key, parameter in model.named_parameters():
                    if "lora_B" in key or "hada" in key or "lora_magnitude" in key or "ia3" in key:
                        parameter.add_(0.2 * torch.randn_like(parameter))
            folder = os.path.join(root, "adapters", name)
            model.save_pretrained(folder)
            path = os.path.join(folder, "adapter_config.json")
            with open(path) as file:
                told = json.load(file)
            told["base_model_name_or_path"] = base
            with open(path, "w") as file:
                json.dump(told, file)
            expected["adapters"][name] = last_logits(model.eval(), ids)
    with open(os.path.join(root, "expected.json"), "w") as file:
        json.dump(expected, file)


def ask(requests):
    answers = {}
    for name, request in requests.items():
        if "tokenize" in request:
            tokenizer = AutoTokenizer.from_pretrained(request["tokenize"])
            special = request.get("special", False)
            answers[name] = [tokenizer(text, add_special_tokens=special)["input_ids"] for text in request["texts"]]
        elif "decode" in request:
            tokenizer = AutoTokenizer.from_pretrained(request["decode"])
            answers[name] = [tokenizer.decode(ids, skip_special_tokens=True) for ids in request["ids"]]
        elif "render" in request:
            tokenizer = AutoTokenizer.from_pretrained(request["render"])
            answers[name] = [
                tokenizer.apply_chat_template(chat["messages"], tools=chat.get("tools"), tokenize=False, add_generation_prompt=True)
                for chat in request["chats"]
            ]
        elif "greedy" in request:
            answers[name] = greedy(load(request["greedy"]), request["ids"], request["count"])
        elif "logprobs" in request:
            model = load(request["logprobs"])
            answers[name] = [token_logprobs(model, ids) for ids in request["ids"]]
        elif "grpo" in request:
            answers[name] = grpo(request["grpo"], request["samples"], request["options"])
        elif "adapter" in request:
            from peft import PeftModel

            answers[name] = last_logits(PeftModel.from_pretrained(load(request["base"]), request["adapter"]).eval(), request["ids"])
        else:
            answers[name] = last_logits(load(request["logits"]), request["ids"])
    return answers


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    print(json.dumps(ask(json.load(sys.stdin))))
