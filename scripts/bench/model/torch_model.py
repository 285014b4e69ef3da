"""The same transformer in PyTorch, for comparison: answers one JSON line on stdout for each on stdin.

{"op": "open", "config": {...}, "threads": 1, "lora": 16, "compile": true, "device": "cuda", "dtype": "bfloat16"}
                                                         -> {"parameters": n, "device": its name}; without lora all weights
                                                            are trained; without device the processor, in float32
{"op": "forward" | "train", "batch": 8, "length": 256, "times": 6}
                                                         -> {"seconds": wall, "cpu": seconds of CPU, "tokens": n}
{"op": "sample", "batch": 32, "steps": 128}              -> likewise
{"op": "generate", "batch": 32, "steps": 128}            -> likewise, by generate of transformers on its own model of this shape
{"op": "prefill", "batch": 32, "length": 128}            -> likewise: a token after each prompt
Each is done "times" times in one timing, once where that is not given.
"""
import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class RmsNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, self.heads, self.kv_heads, self.dim = c["hiddenSize"], c["heads"], c["kvHeads"], c["headDim"]
        self.input_norm = RmsNorm(d, c["normEps"])
        self.post_norm = RmsNorm(d, c["normEps"])
        self.q = nn.Linear(d, self.heads * self.dim, bias=c["qkvBias"])
        self.k = nn.Linear(d, self.kv_heads * self.dim, bias=c["qkvBias"])
        self.v = nn.Linear(d, self.kv_heads * self.dim, bias=c["qkvBias"])
        self.o = nn.Linear(self.heads * self.dim, d, bias=False)
        self.gate = nn.Linear(d, c["intermediateSize"], bias=False)
        self.up = nn.Linear(d, c["intermediateSize"], bias=False)
        self.down = nn.Linear(c["intermediateSize"], d, bias=False)
        # Qwen3 norms each head of queries and keys.
        self.q_norm = RmsNorm(self.dim, c["normEps"]) if c["qkNorm"] else nn.Identity()
        self.k_norm = RmsNorm(self.dim, c["normEps"]) if c["qkNorm"] else nn.Identity()

    def forward(self, x, cos, sin, mask, cache, at):
        b, t, _ = x.shape
        h = self.input_norm(x)
        q = rotate(self.q_norm(self.q(h).view(b, t, self.heads, self.dim)).transpose(1, 2), cos, sin)
        k = rotate(self.k_norm(self.k(h).view(b, t, self.kv_heads, self.dim)).transpose(1, 2), cos, sin)
        v = self.v(h).view(b, t, self.kv_heads, self.dim).transpose(1, 2)
        if cache is not None:
            cache[0][:, :, at:at + t] = k
            cache[1][:, :, at:at + t] = v
            k, v = cache[0][:, :, :at + t], cache[1][:, :, :at + t]
        if self.kv_heads != self.heads:
            k = k.repeat_interleave(self.heads // self.kv_heads, 1)
            v = v.repeat_interleave(self.heads // self.kv_heads, 1)
        scores = q @ k.transpose(-1, -2) * self.dim ** -0.5
        if mask is not None:
            scores = scores + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1)
        x = x + self.o(mixed)
        h = self.post_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def rotate(x, cos, sin):
    lo, hi = x.chunk(2, -1)
    return torch.cat([lo * cos - hi * sin, hi * cos + lo * sin], -1)


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed = nn.Embedding(c["vocabSize"], c["hiddenSize"])
        self.layers = nn.ModuleList([Layer(c) for _ in range(c["layers"])])
        self.norm = RmsNorm(c["hiddenSize"], c["normEps"])
        angles = torch.outer(torch.arange(4096.0), c["ropeTheta"] ** (-torch.arange(0, c["headDim"], 2) / c["headDim"]))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids, cache=None, at=0, last=False):
        t = ids.shape[1]
        mask = None
        if t > 1:
            mask = torch.full((t, t), float("-inf"), device=ids.device, dtype=self.cos.dtype).triu(1)
        cos, sin = self.cos[at:at + t], self.sin[at:at + t]
        x = self.embed(ids)
        for i, layer in enumerate(self.layers):
            x = layer(x, cos, sin, mask, None if cache is None else cache[i], at)
        return F.linear(self.norm(x[:, -1:] if last else x), self.embed.weight)


class Lora(nn.Module):
    """W x + 2 B A x with W frozen."""

    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features ** 0.5)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + 2 * F.linear(F.linear(x, self.a), self.b)


def adapt(model, rank):
    for p in model.parameters():
        p.requires_grad_(False)
    for layer in model.layers:
        for name in ("q", "k", "v", "o", "gate", "up", "down"):
            setattr(layer, name, Lora(getattr(layer, name), rank))


def transformers_model(c):
    """The class that AutoModelForCausalLM takes for such a config.json, with random weights."""
    from transformers import AutoConfig, AutoModelForCausalLM

    return AutoModelForCausalLM.from_config(AutoConfig.for_model(
        c["family"], vocab_size=c["vocabSize"], hidden_size=c["hiddenSize"], intermediate_size=c["intermediateSize"],
        num_hidden_layers=c["layers"], num_attention_heads=c["heads"], num_key_value_heads=c["kvHeads"], head_dim=c["headDim"],
        max_position_embeddings=c["contextTokens"], rms_norm_eps=c["normEps"], tie_word_embeddings=c["tiedHead"],
        bos_token_id=None, eos_token_id=None,
    ))


class Bench:
    def open(self, r):
        torch.set_num_threads(r["threads"])
        torch.manual_seed(0)
        self.model = Model(r["config"])
        if r.get("lora"):
            adapt(self.model, r["lora"])
        self.device, self.dtype = r.get("device", "cpu"), getattr(torch, r.get("dtype", "float32"))
        self.model.to(self.device, self.dtype)
        self.synchronize = torch.cuda.synchronize if self.device == "cuda" else lambda: None
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.adam = torch.optim.AdamW(self.trained, lr=1e-3, weight_decay=0.01)
        self.whole = torch.compile(self.model) if r.get("compile") else self.model
        self.theirs = None
        name = torch.cuda.get_device_name() if self.device == "cuda" else self.device
        return {"parameters": sum(p.numel() for p in self.model.parameters()), "device": name}

    def ids(self, batch, length):
        return torch.randint(0, self.model.c["vocabSize"], (batch, length), device=self.device)

    def run_forward(self, ids):
        with torch.no_grad():
            self.whole(ids)

    def run_train(self, ids):
        logits = self.whole(ids)
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.adam.step()

    def cache(self, batch, length):
        c = self.model.c
        shape = (batch, c["kvHeads"], length, c["headDim"])
        zeros = lambda: torch.zeros(shape, device=self.device, dtype=self.dtype)
        return [(zeros(), zeros()) for _ in range(c["layers"])]

    def run_prefill(self, ids):
        with torch.no_grad():
            logits = self.model(ids, self.cache(*ids.shape), 0, True)[:, -1]
            torch.multinomial(logits.softmax(-1), 1).tolist()

    def run_sample(self, batch, steps):
        with torch.no_grad():
            cache = self.cache(batch, steps + 1)
            ids = self.ids(batch, 1)
            for at in range(steps):
                logits = self.model(ids, cache, at)[:, -1]
                logprobs = logits.log_softmax(-1)
                ids = torch.multinomial(logprobs.exp(), 1)
                logprobs.gather(1, ids).tolist()

    def run_generate(self, batch, steps):
        with torch.no_grad():
            self.theirs.generate(
                self.ids(batch, 1), attention_mask=torch.ones(batch, 1, dtype=torch.long, device=self.device),
                min_new_tokens=steps, max_new_tokens=steps, do_sample=True, temperature=1.0, top_k=0, top_p=1.0, pad_token_id=0,
            ).tolist()

    def timed(self, r):
        if r["op"] == "generate" and self.theirs is None:
            self.theirs = transformers_model(self.model.c).to(self.device, self.dtype).eval()
        if r["op"] in ("sample", "generate"):
            step = self.run_sample if r["op"] == "sample" else self.run_generate
            once, tokens = (lambda: step(r["batch"], r["steps"])), r["batch"] * r["steps"]
        elif r["op"] == "prefill":
            ids = self.ids(r["batch"], r["length"])
            once, tokens = (lambda: self.run_prefill(ids)), ids.numel()
        else:
            ids = self.ids(r["batch"], r["length"])
            step = self.run_forward if r["op"] == "forward" else self.run_train
            once, tokens = (lambda: step(ids)), ids.numel()
        times = r.get("times", 1)
        self.synchronize()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(times):
            once()
        self.synchronize()
        return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "tokens": times * tokens}


bench = Bench()
for line in sys.stdin:
    request = json.loads(line)
    answer = bench.open(request) if request["op"] == "open" else bench.timed(request)
    print(json.dumps(answer), flush=True)
