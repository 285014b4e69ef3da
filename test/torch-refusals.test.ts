/**
 * What integrations/torch refuses of what a run asks for, in words that name it. SKIP without the packages (RL_TEST_PYTHON).
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { CATALOGUE } from '../src/events/catalogue.ts'
import { startProgram } from './support/processes.ts'
import { PYTHON } from './support/python.ts'
import { temporaryFolder } from './support/run.ts'
import { lacksTrainer } from './support/torch-trainer.ts'

/** Lines that `attempt` a call, each under a name; gives by name what was said where it was refused, else "taken". */
async function attempted(lines: string, ...args: readonly string[]): Promise<Record<string, string>> {
  const script = `
import asyncio, json, sys
said = {}
def attempt(name, call):
    try:
        call()
        said[name] = "taken"
    except (SystemExit, ValueError) as error:
        said[name] = f"{type(error).__name__}: {error}"
${lines}
print(json.dumps(said))
`
  const program = startProgram(PYTHON, ['-c', script, ...args], { PYTHONPATH: 'integrations/torch' })
  assert.is(await program.status, 0, program.output())
  return JSON.parse(program.output().trim().split('\n').at(-1)!)
}

test('a BatchReady whose parent lies in no run is none', () => {
  const { shape } = CATALOGUE.BatchReady.schema
  const parent = (run: string) =>
    shape.parent.safeParse({ run, sha256: '0'.repeat(64), path: 'checkpoints/policy/00000' }).success
  assert.equal(['run-1', '..', 'a/b', 'A'].map(parent), [true, false, false, false])
})

const lacking = lacksTrainer()
if (lacking)
  test('refusals of the trainer in PyTorch', () => {
    console.log(`SKIP refusals of the trainer in PyTorch: ${lacking}`)
  })
else {
  test("a parent's weights lie within its run, and are those of the event", async () => {
    const runs = temporaryFolder()
    const [one, shards, evil] = ['run/one', 'run/shards', 'evil'].map((path) => join(runs, path))
    for (const folder of [one, shards, evil]) mkdirSync(folder, { recursive: true })
    const index = JSON.stringify({ weight_map: { b: 'b.safetensors', a: 'a.safetensors' } })
    writeFileSync(join(one, 'model.safetensors'), 'weights')
    writeFileSync(join(shards, 'model.safetensors.index.json'), index)
    for (const name of 'ab') writeFileSync(join(shards, `${name}.safetensors`), name)
    const digest = (text: string) => createHash('sha256').update(text).digest('hex')
    const said = await attempted(
      `
from pathlib import Path
from rlanything_trainer.cli import check_weights, parent_folder
runs, whole, sharded = sys.argv[1:]
for run, path in (("run", "one"), ("run", "none"), ("run", "../evil"), ("..", "evil")):
    attempt(f"{run} {path}", lambda: parent_folder(runs, {"run": run, "path": path}))
attempt("whole", lambda: check_weights(Path(runs, "run/one"), whole))
attempt("other", lambda: check_weights(Path(runs, "run/one"), sharded))
attempt("shards", lambda: check_weights(Path(runs, "run/shards"), sharded))
attempt("empty", lambda: check_weights(Path(runs, "evil"), whole))
`,
      ...[runs, digest('weights'), digest(`${index}ab`)],
    )
    for (const taken of ['run one', 'whole', 'shards']) assert.is(said[taken], 'taken')
    assert.match(said['run none'], /^Unfit: .*not in .*run\/none: --runs names where runs lie/)
    for (const name of ['run ../evil', '.. evil']) assert.match(said[name], /^Unfit: .*outside of its run/)
    assert.match(said.other, /^Unfit: the weights in .*run\/one are not those of the event/)
    assert.match(said.empty, /^Unfit: there are no weights in .*--runs/)
  })

  test('an adapter stands on --base: whole weights are its parent where they are those, and no adapter is where all are trained', async () => {
    const root = temporaryFolder()
    const [base, taught, adapter] = ['base', 'taught', 'adapter'].map((name) => join(root, name))
    for (const folder of [base, taught, adapter]) mkdirSync(folder)
    for (const folder of [base, taught]) {
      writeFileSync(join(folder, 'config.json'), '{}')
      writeFileSync(join(folder, 'model.safetensors'), folder)
    }
    writeFileSync(join(adapter, 'adapter_config.json'), '{}')
    writeFileSync(join(adapter, 'adapter_model.safetensors'), 'adapter')
    const said = await attempted(
      `
from pathlib import Path
from rlanything_trainer.group import Group
from rlanything_trainer.model import Trained
base, *parents = sys.argv[1:]
for lora in ({}, None):
    trained = Trained(base, lora=lora, group=Group("cpu"), checkpointing=False)
    for parent in parents:
        attempt(f"{'whole' if lora is None else 'adapter'} from {Path(parent).name}", lambda: trained.check_parent(Path(parent)))
`,
      ...[base, base, taught, adapter],
    )
    for (const taken of ['adapter from base', 'adapter from adapter', 'whole from base', 'whole from taught'])
      assert.is(said[taken], 'taken', taken)
    assert.match(
      said['adapter from taught'],
      /^Unfit: .*taught holds a whole model, .*--base .*taught, or add --full/,
    )
    assert.match(said['whole from adapter'], /^Unfit: .*adapter holds an adapter, .*leave --full out/)
  })

  test('an adapter whose base has other weights than --base is no parent; one whose base has the same, or is not here, is', async () => {
    const root = temporaryFolder()
    const [base, copy, other] = ['base', 'copy', 'other'].map((name) => join(root, name))
    for (const folder of [base, copy, other]) {
      mkdirSync(folder)
      writeFileSync(join(folder, 'config.json'), '{}')
      writeFileSync(join(folder, 'model.safetensors'), folder === other ? 'other' : 'weights')
    }
    const named = { same: base, copy, '../copy': '../copy', other, hub: 'owner/name', none: null }
    const adapters = Object.entries(named).map(([, place], i) => {
      const folder = join(root, `adapter-${i}`)
      mkdirSync(folder)
      writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify({ base_model_name_or_path: place }))
      return folder
    })
    const said = await attempted(
      `
from pathlib import Path
from rlanything_trainer.group import Group
from rlanything_trainer.model import Trained
base, *adapters = sys.argv[1:]
for i, adapter in enumerate(adapters):
    trained = Trained(base, lora={}, group=Group("cpu"), checkpointing=False)
    attempt(str(i), lambda: trained.check_parent(Path(adapter)))
`,
      ...[base, ...adapters],
    )
    for (const [i, name] of Object.keys(named).entries())
      if (name === 'other')
        assert.match(said[i], /^Unfit: the adapter in .* stands on .*other, .*give --base .*other$/)
      else assert.is(said[i], 'taken', name)
  })

  test('a batch that is damaged or asks for what is unknown is refused by name', async () => {
    const said = await attempted(`
import msgpack, numpy, torch
from rlanything_trainer.batch import read_batch, token_weights
from rlanything_trainer.loss import policy_loss
def file(**segment):
    one = {"id": "s", "tokensI32": bytes(8), "maskU8": bytes((0, 1)), "logprobsF32": bytes(8), "advantagesF32": bytes(8), **segment}
    return msgpack.packb({"format": "rl-batch/1", "segments": [{name: value for name, value in one.items() if value is not None}]})
attempt("whole", lambda: read_batch(file()))
for name, content in {
    "cut": file()[:-3], "empty": b"", "more": file() + b"x", "list": msgpack.packb([1]), "newer": msgpack.packb({"format": "rl-batch/9"}),
    "bare": msgpack.packb({"format": "rl-batch/1"}), "odd": file(tokensI32=bytes(7)), "text": file(tokensI32="abcd"),
    "no tokens": file(tokensI32=None), "no id": file(id=None), "no mask": file(maskU8=None), "short": file(maskU8=bytes(1)),
}.items():
    attempt(name, lambda: read_batch(content))
attempt("aggregate", lambda: token_weights([], {"aggregate": "median"}))
one, none = torch.zeros(1), torch.zeros(1, dtype=torch.long)
for options in ({"objective": "best"}, {"ratio": "word"}):
    attempt(next(iter(options)), lambda: policy_loss(one, one, one, one, one, none, {"klWeight": 0, "clipLow": 0.2, "clipHigh": 0.2, **options}))
`)
    const { whole, ...refused } = said
    assert.is(whole, 'taken')
    for (const [name, words] of Object.entries(refused)) assert.match(words, /^Unfit: ./, name)
    assert.match(refused.newer, /'rl-batch\/9', this trainer reads rl-batch\/1/)
    assert.match(refused['no mask'], /segment s has no mask/)
    assert.match(refused.aggregate, /'median' is not one of sample, step, batch, constant/)
  })

  test('a base that is no folder here, or a GGUF file, is refused by name', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'model.Q4_1.gguf'), 'GGUF')
    const said = await attempted(
      `
from rlanything_trainer.group import Group
from rlanything_trainer.model import Trained
for name, base in zip(("none", "folder", "file"), sys.argv[1:]):
    attempt(name, Trained(base, lora=None, group=Group("cpu"), checkpointing=False).check)
`,
      ...[join(root, 'none'), root, join(root, 'model.Q4_1.gguf')],
    )
    assert.match(said.none, /^Unfit: --base .*none: there is no such folder$/)
    for (const name of ['folder', 'file'])
      assert.match(said[name], /is a GGUF file: give the folder that 'rl model export'/)
  })

  test('a login of the environment goes with the address that the head left', async () => {
    const runs = temporaryFolder()
    mkdirSync(join(runs, 'one', 'credentials'), { recursive: true })
    const left = { url: 'nats://127.0.0.1:7', user: 'policy-worker', password: 'left' }
    writeFileSync(join(runs, 'one', 'credentials', 'policy-worker.json'), JSON.stringify(left))
    const said = await attempted(
      `
import os
from rlanything_trainer.run import address
for name in ("NATS_URL", "NATS_USER", "NATS_PASSWORD", "NATS_TOKEN"):
    os.environ.pop(name, None)
said["left"] = " ".join(address("one", "policy", None, sys.argv[1])[name] for name in ("servers", "user", "password"))
os.environ.update(NATS_USER="other", NATS_PASSWORD="given")
said["given"] = " ".join(address("one", "policy", None, sys.argv[1])[name] for name in ("servers", "user", "password"))
`,
      runs,
    )
    assert.is(said.left, 'nats://127.0.0.1:7 policy-worker left')
    assert.is(said.given, 'nats://127.0.0.1:7 other given')
  })

  test('sizes below 1 are refused before anything is opened', async () => {
    for (const option of ['--token-budget', '--lora-rank', '--lora-alpha']) {
      const args = ['-m', 'rlanything_trainer', '--run', 'a', '--base', 'nowhere', `${option}=-5`]
      const program = startProgram(PYTHON, args, { PYTHONPATH: 'integrations/torch' })
      assert.is(await program.status, 2)
      assert.match(program.output(), `${option} is -5: give 1 or more`)
    }
  })

  test('a broker that is not there is told of when the time for it is over, without the words in its address', async () => {
    const said = await attempted(`
import os, time
os.environ["RL_TRAINER_CONNECT_SECONDS"] = "1"
from rlanything_trainer.run import Run
address = {"servers": "nats://user:word-of-the-broker@127.0.0.1:1", "user": None, "password": None, "token": None}
began = time.monotonic()
attempt("away", lambda: asyncio.run(Run("run", "policy", address).open()))
said["seconds"] = str(time.monotonic() - began)
`)
    assert.match(said.away, /^SystemExit: rlanything-trainer: nobody listens at nats:\/\/127\.0\.0\.1:1 /)
    assert.ok(Number(said.seconds) < 60, said.seconds)
  })

  test('an adapter is put wherever PEFT puts it', async () => {
    const said = await attempted(
      `
from transformers import GPT2Config
from rlanything_trainer.group import Group
from rlanything_trainer.model import Trained
base = sys.argv[1]
GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=64, n_positions=64, bos_token_id=0, eos_token_id=0).save_pretrained(base)
for target in ("c_attn", "attn.c_attn", "attn", "tn.c_attn"):
    trained = Trained(base, lora={"target_modules": [target]}, group=Group("cpu"), checkpointing=False)
    attempt(target, trained.check)
`,
      join(temporaryFolder(), 'gpt2'),
    )
    for (const target of ['c_attn', 'attn.c_attn']) assert.is(said[target], 'taken')
    for (const target of ['attn', 'tn.c_attn'])
      assert.match(said[target], `--lora-targets names '${target}': `)
    assert.match(said.attn, /gpt2 has c_attn, c_fc, c_proj, lm_head$/)
  })
}

test.run()
