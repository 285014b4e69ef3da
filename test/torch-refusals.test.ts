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
