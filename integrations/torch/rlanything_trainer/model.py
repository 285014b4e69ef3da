"""The model that is trained: a causal language model of transformers, whole or with a PEFT adapter, and its folders."""

import hashlib
import json
import os
import shutil
import uuid
from contextlib import nullcontext
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.pytorch_utils import Conv1D

from .batch import Unfit

OPTIMIZER = "optimizer.safetensors"
ADAPTER = "adapter_model.safetensors"
WEIGHTS = "model.safetensors"
ROWS = 1024
"""Trained tokens whose logits are held at a time: [ROWS, vocabulary]."""


def first_line(error):
    return str(error).strip().split("\n")[0]


def is_adapter(folder):
    return (Path(folder) / "adapter_config.json").exists() and not (Path(folder) / "config.json").exists()


class _Scoring(nn.Module):
    """One pass as one module: what FSDP gathers for a module is there while that module runs."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, attention, rows, targets, allowed, temperature):
        causal = self.model.get_base_model() if isinstance(self.model, PeftModel) else self.model
        head = causal.get_output_embeddings()

        def logprobs_of(hidden, wanted, restricted):
            logits = head(hidden).float() / temperature
            if restricted is not None:
                logits = logits.masked_fill(~_allowed_mask(restricted, logits), -torch.inf)
            logs = logits.log_softmax(-1)
            entropy = -(logs.exp() * logs.masked_fill(logs == -torch.inf, 0)).sum(-1)
            return logs.gather(-1, wanted[:, None])[:, 0], entropy

        hidden = causal.get_decoder()(input_ids=ids, attention_mask=attention, use_cache=False)
        hidden = hidden.last_hidden_state.flatten(0, 1)[rows]
        pieces = [
            checkpoint(
                logprobs_of,
                hidden[at : at + ROWS],
                targets[at : at + ROWS],
                allowed[at : at + ROWS] if any(allowed[at : at + ROWS]) else None,
                use_reentrant=False,
            )
            for at in range(0, len(targets), ROWS)
        ]
        return torch.cat([logs for logs, _ in pieces]), torch.cat([entropy for _, entropy in pieces])


class Trained:
    """Weights are float32 where they are trained; a frozen base and all computing are bfloat16 on a GPU."""

    def __init__(self, base, *, lora, group, checkpointing):
        self.base = base
        self.lora = lora
        self.group = group
        self.device = group.device
        self.checkpointing = checkpointing
        self.folder = None
        self.sha256 = None
        """Of the weights of `folder`, with the first process alone."""
        self._fitting_base = None
        """Of an adapter, found to be --base's weights: those of a large model are read once."""
        self.model = None

    def check(self):
        """That the base is a model of language that has what an adapter is put on; no weights are read. Errors: Unfit."""
        base = Path(self.base)
        if base.suffix == ".gguf" or (base.is_dir() and not (base / "config.json").exists() and any(base.glob("*.gguf"))):
            raise Unfit(f"--base {self.base} is a GGUF file: give the folder that 'rl model export' writes of it")
        if not base.exists() and (base.is_absolute() or str(self.base).startswith((".", "~"))):
            raise Unfit(f"--base {self.base}: there is no such folder")
        try:
            config = AutoConfig.from_pretrained(self.base)
            with torch.device("meta"):
                model = AutoModelForCausalLM.from_config(config)
        except (OSError, ValueError) as wrong:
            raise Unfit(f"--base {self.base}: {first_line(wrong)}") from None
        if self.lora is None:
            return
        linear = [name for name, module in model.named_modules() if isinstance(module, (nn.Linear, Conv1D))]
        for target in self.lora["target_modules"]:
            if not any(f".{name}".endswith(f".{target}") for name in linear):
                known = sorted({name.split(".")[-1] for name in linear})
                raise Unfit(f"--lora-targets names {target!r}: {self.base} has {', '.join(known)}")

    def check_parent(self, folder):
        """That a version can be made of the weights there: an adapter is one of the base, and of whole weights where they are the base's. Errors: Unfit."""
        if self.lora is None and is_adapter(folder):
            raise Unfit(f"{folder} holds an adapter, and --full trains whole models: leave --full out")
        if self.lora is not None and not is_adapter(folder) and weights_digest(folder) != weights_digest(self.base):
            raise Unfit(f"{folder} holds a whole model, and an adapter would stand on other weights: give --base {folder}, or add --full")
        if self.lora is not None and is_adapter(folder) and (other := self._other_base(folder)) is not None:
            raise Unfit(f"the adapter in {folder} stands on {other}, whose weights are not those of --base {self.base}: give --base {other}")

    def _other_base(self, folder):
        """The base that an adapter names, where it is a folder here with other weights than --base has; else None: a name says nothing of weights."""
        named = json.loads((Path(folder) / "adapter_config.json").read_text()).get("base_model_name_or_path")
        if not named:
            return None
        places = [place.resolve() for place in (Path(folder, named), Path(named))]
        there = next((place for place in places if place.is_dir()), None)
        if there is None or there in (self._fitting_base, Path(self.base).resolve()) or not Path(self.base).is_dir():
            return None
        if None not in (digests := (weights_digest(there), weights_digest(self.base))) and digests[0] != digests[1]:
            return there
        self._fitting_base = there
        return None

    def open(self, folder, seed):
        """The weights of `folder` (null: the base as it is, with a fresh adapter where one is trained)."""
        given = folder if folder is not None and not is_adapter(folder) else self.base
        dtype = self.half if self.lora is not None else torch.float32
        self.adopt(AutoModelForCausalLM.from_pretrained(given, dtype=dtype), folder, seed)

    def adopt(self, whole, folder, seed):
        """Trains a model of transformers, with the adapter of `folder` where that is one."""
        frozen = self.lora is not None
        if self.checkpointing:
            whole.gradient_checkpointing_enable({"use_reentrant": False})
        if not frozen:
            model = whole
        elif folder is not None and is_adapter(folder):
            model = PeftModel.from_pretrained(whole, folder, is_trainable=True)
        else:
            torch.manual_seed(seed)
            model = get_peft_model(whole, LoraConfig(task_type="CAUSAL_LM", **self.lora))
        if self.checkpointing and frozen:
            whole.enable_input_require_grads()
        self.model = model
        for parameter in self.parameters().values():
            parameter.data = parameter.data.float()
        self.scoring = _Scoring(model)
        if self.group.size > 1:
            # What was never whole on a device need not fit there.
            kinds = self._causal()._no_split_modules
            layers = [module for module in model.modules() if type(module).__name__ in kinds]
            self.group.shard(self.scoring, layers)
        self.scoring.to(self.device)
        self.folder = folder

    def opened_base(self):
        """The base model by itself, which a whole model's KL may refer to."""
        base = Trained(self.base, lora=None, group=self.group, checkpointing=False)
        base.open(None, 0)
        return base

    @property
    def half(self):
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32

    @property
    def context(self):
        return self._causal().config.max_position_embeddings

    @property
    def layers(self):
        return self._causal().config.num_hidden_layers

    @property
    def vocabulary(self):
        return self._causal().config.vocab_size

    def _causal(self):
        return self.model.get_base_model() if isinstance(self.model, PeftModel) else self.model

    def parameters(self):
        """What is trained, by the names of a Hugging Face folder, those of adapters without PEFT's prefix."""
        return {
            name.removeprefix("base_model.model.").replace(".default.", "."): parameter
            for name, parameter in self.model.named_parameters()
            if parameter.requires_grad
        }

    def row_logprobs(self, samples, *, adapter=True, temperature=1):
        """Log-probs and entropies of the trained tokens, [rows], sample by sample."""
        ids, attention, rows, targets, allowed = _pack(samples, self.device)
        cast = torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else nullcontext()
        base = nullcontext() if adapter or not isinstance(self.model, PeftModel) else self.model.disable_adapter()
        with cast, base:
            return self.scoring(ids, attention, rows, targets, allowed, temperature)

    def state(self):
        """The trained weights by the names that the model itself has, whole and with the first process alone."""
        return self.group.gathered({name: one for name, one in self.model.named_parameters() if one.requires_grad})

    def save(self, home, version, state, moments, step):
        """Writes a folder whole or not at all: its weights as `state` gave them. Gives its place and the SHA-256 of its weights file.

        It is named by its digest: of two trainers of one version each has its own, and the log says whose holds.
        """
        temporary = Path(home) / f".{version:05d}.{uuid.uuid4().hex[:8]}"
        temporary.mkdir(parents=True)
        try:
            if self.lora is not None:
                self.model.save_pretrained(temporary, safe_serialization=True, save_embedding_layers=False, state_dict=state)
                (temporary / "README.md").unlink(missing_ok=True)
                named = json.loads((temporary / "adapter_config.json").read_text())
                named["base_model_name_or_path"] = self._base_name()
                (temporary / "adapter_config.json").write_text(json.dumps(named, indent=2) + "\n")
                weights = temporary / ADAPTER
            else:
                self._save_small_files(temporary)
                weights = temporary / WEIGHTS
                save_file(state, weights, {"format": "pt"})
            if step > 0:
                save_file(moments, temporary / OPTIMIZER, {"step": str(step)})
            with open(weights, "rb") as written:
                digest = hashlib.file_digest(written, "sha256").hexdigest()
            for path in temporary.iterdir():
                with open(path, "rb") as written:
                    os.fsync(written.fileno())
            folder = Path(home) / f"{version:05d}-{digest[:8]}"
            try:
                temporary.rename(folder)
            except OSError:
                # Another trainer may have made the same.
                if not folder.exists():
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self.folder, self.sha256 = folder, digest
        return folder, digest

    def _save_small_files(self, folder):
        """Config, what ends an answer, tokenizer: those of the folder as they are, of the hub as transformers writes them."""
        source = Path(self.folder or self.base)
        if not source.is_dir():
            self.model.config.save_pretrained(folder)
            self.model.generation_config.save_pretrained(folder)
            AutoTokenizer.from_pretrained(self.base).save_pretrained(folder)
            return
        for path in source.iterdir():
            if path.suffix in (".json", ".jinja", ".txt", ".model") and not path.name.endswith(".index.json"):
                shutil.copy(path, folder)

    def _base_name(self):
        """Absolute where it is a folder: an adapter lies elsewhere than where this program runs."""
        return str(Path(self.base).resolve()) if Path(self.base).exists() else self.base


def weights_digest(folder):
    """SHA-256 of a folder's weights as events have it: of one file, or of an index and its shards in their order. None where there are none."""
    folder = Path(folder)
    whole, index = folder / (ADAPTER if is_adapter(folder) else WEIGHTS), folder / f"{WEIGHTS}.index.json"
    paths = [whole]
    if not whole.exists():
        if is_adapter(folder) or not index.exists():
            return None
        paths = [index, *(folder / name for name in sorted(set(json.loads(index.read_text())["weight_map"].values())))]
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def read_moments(folder):
    """AdamW's moments as `m.<weight>` and `v.<weight>`, and the steps that they have seen."""
    path = Path(folder or "") / OPTIMIZER
    if folder is None or not path.exists():
        return {}, 0
    with safe_open(path, "pt") as file:
        step = int(file.metadata()["step"])
    return load_file(path), step


def _pack(samples, device):
    """Ids padded on the right; the flat place that predicts each trained token; the token; what was allowed there."""
    longest = max(len(sample.tokens) for sample in samples)
    ids = torch.zeros(len(samples), longest, dtype=torch.long)
    attention = torch.zeros(len(samples), longest, dtype=torch.long)
    rows, targets, allowed = [], [], []
    for s, sample in enumerate(samples):
        ids[s, : len(sample.tokens)] = torch.from_numpy(sample.tokens.astype("int64"))
        attention[s, : len(sample.tokens)] = 1
        for t in sample.mask.nonzero()[0]:
            rows.append(s * longest + t - 1)
            targets.append(int(sample.tokens[t]))
            offsets = sample.allowed_offsets
            allowed.append([] if offsets is None else sample.allowed[offsets[t] : offsets[t + 1]].tolist())
    place = lambda values: torch.tensor(values, dtype=torch.long, device=device)  # noqa: E731
    return ids.to(device), attention.to(device), place(rows), place(targets), allowed


def _allowed_mask(allowed, logits):
    mask = torch.zeros(logits.shape, dtype=torch.bool)
    for row, tokens in enumerate(allowed):
        if tokens:
            mask[row, tokens] = True
        else:
            mask[row] = True
    return mask.to(logits.device)
