/**
 * integrations/torch: the same batch gives the weights that our own trainer gives. RL_TEST_PYTHON names a Python that has its
 * packages (integrations/torch/constraints.txt); SKIP where they are missing.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { encodeBatch } from '../src/actors/learner/batch-file.ts'
import { updateOptions } from '../src/actors/learner/update-options.ts'
import { environmentOf } from '../src/broker/connection.ts'
import { parseConfig } from '../src/config.ts'
import type { EventData } from '../src/events/catalogue.ts'
import { connectLog } from '../src/events/log-client.ts'
import { readCheckpoint, readModelFolder } from '../src/models/local/checkpoint.ts'
import { LORA_TARGETS } from '../src/models/local/lora-targets.ts'
import { type LocalModelFace, openLocalModel } from '../src/models/local/model.ts'
import { type PresetName, presetConfig } from '../src/models/local/presets.ts'
import { createTokenizer } from '../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../src/models/local/word-tokenizer.ts'
import type { TrainingSample } from '../src/models/port.ts'
import { rng } from '../src/random.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from './support/run.ts'

const python = process.env.RL_TEST_PYTHON ?? 'python3'
const MODULES = 'import torch, transformers, peft, safetensors, nats, msgpack'

/**
 * What of an update may differ, as a share of its length: float32 sums are added up in another order, and Adam turns the sign of a
 * gradient that is nearly 0 into a whole step.
 */
const TOLERANCE = 3e-4

const root = temporaryFolder()
const { policy } = parseConfig({ policy: { training: { klLimit: null, weightDecay: 0.01, dualClip: 3 } } })
const files = trainWordTokenizer({
  words: ['go to the cabinet and open it', 'look around the kitchen', 'take an apple from the fridge'],
})

async function writeBase(name: PresetName, folder: string): Promise<void> {
  const tokenizer = createTokenizer(files)
  const { size: vocabSize, endToken } = tokenizer
  const config = presetConfig(name, { vocabSize, contextTokens: 128, endToken })
  const model = await openLocalModel({ config, tokenizer: files, seed: 5, backend: 'wasm' })
  await model.save(folder)
  await model.close()
}

/** Sequences that the model samples, of different lengths and with advantages of both signs; some under a restriction. */
async function batchOf(model: LocalModelFace, seed: number): Promise<TrainingSample[]> {
  const random = rng([seed, 7])
  const samples: TrainingSample[] = []
  for (let i = 0; i < 13; i++) {
    const prompt = Array.from({ length: 2 + random.below(9) }, () => random.below(model.tokenizer.size))
    const length = prompt.length + 1 + random.below(24)
    const tokens = Int32Array.from({ length }, (_, t) => prompt[t] ?? random.below(model.tokenizer.size))
    const mask = new Uint8Array(length).fill(1, prompt.length)
    const advantages = Float32Array.from(mask, (one) => one * (random.uniform() * 2 - 1))
    const restricted = i % 4 === 0
    const offsets = new Int32Array(length + 1)
    const values: number[] = []
    for (let t = 0; t < length; t++) {
      if (restricted && mask[t] && t % 2 === 0) {
        const others = [1, 2, 3].map((step) => (tokens[t] + step) % model.tokenizer.size)
        values.push(...[tokens[t], ...others].sort((a, b) => a - b))
      }
      offsets[t + 1] = values.length
    }
    const allowed = restricted ? { offsets, tokens: Int32Array.from(values) } : undefined
    const [logprobs] = await model.score([{ tokens, mask, allowed }])
    // As if an older version had sampled it: ratios are not 1.
    const older = logprobs.map((value, t) => (mask[t] ? value + random.uniform() - 0.5 : 0))
    samples.push({ id: `s/${i}#0`, tokens, mask, advantages, logprobs: older, allowed })
  }
  return samples
}

type Role = 'policy' | 'reward-model'

/** Several processes are started by torchrun, and share the weights (FSDP). */
function startTrainer(head: TestHead, role: Role, words: readonly string[], processes: number): ChildProcess {
  const torchrun = ['torch.distributed.run', '--standalone', '--nproc-per-node', `${processes}`, '-m', '--']
  const args = ['rlanything_trainer', '--run', 'test', '--role', role, '--runs', root, ...words]
  return spawn(python, ['-m', ...(processes > 1 ? torchrun : []), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      ...environmentOf(head.addressOf(`${role}-worker`)),
      ...{ PYTHONPATH: 'integrations/torch', HF_HUB_OFFLINE: '1', GLOO_SOCKET_IFNAME: 'lo' },
    },
  })
}

/** Length of the difference of two updates of the same weights, as a share of the first one's. */
async function difference(before: string, ours: string, theirs: string): Promise<number> {
  const read = async (folder: string) => {
    const { weights, adapter } = await readCheckpoint(await readModelFolder(folder))
    return new Map(adapter ? adapter.tensors.map(({ name, values }) => [name, values]) : weights)
  }
  const [from, a, b] = await Promise.all([before, ours, theirs].map(read))
  assert.equal([...b.keys()].sort(), [...a.keys()].sort())
  let moved = 0
  let apart = 0
  for (const [name, values] of a)
    for (const [i, value] of values.entries()) {
      moved += (value - from.get(name)![i]) ** 2
      apart += (value - b.get(name)![i]) ** 2
    }
  assert.ok(moved > 0)
  return Math.sqrt(apart / moved)
}

async function compare(shape: PresetName, role: Role, lora: boolean, processes = 1): Promise<void> {
  const name = `${shape}-${role}-${processes}`
  const base = join(root, `${name}-base`)
  await writeBase(shape, base)
  const head = await startTestHead()
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'head' })
  const path = (version: number) => `checkpoints/${role}/0000${version}`
  const place = (version: number) => join(root, 'test', path(version))
  const own = (version: number) => (version === 0 ? place(0) : join(root, `${name}-own-${version}`))
  const adapter = { rank: 4, alpha: 8, targets: [...LORA_TARGETS], seed: 3 }
  const model = await openLocalModel({ folder: base, backend: 'wasm', ...(lora ? { lora: adapter } : {}) })
  let sha256 = await model.save(place(0))
  const words = ['--base', base, ...(lora ? [] : ['--full'])]
  const updated = role === 'policy' ? 'PolicyUpdated' : 'RewardModelUpdated'
  let trainer = startTrainer(head, role, words, processes)
  try {
    for (const version of [1, 2]) {
      // An adapter's second update is of the upper layer alone.
      const layers = lora && version === 2 ? 1 : null
      // And what the entropies and the samples' ratios decide.
      const masks = version === 2 ? { entropyWeight: 0.02, entropyShare: 0.6, offPolicyLimit: 0.05 } : {}
      const training = { ...policy.training, tokenBudget: 64, layers, ...masks }
      const samples = await batchOf(model, version)
      const seed = [version, 11] as const
      const versioned = samples.map((sample) => ({ ...sample, policyVersion: version - 1 }))
      const file = await log.putBlob(
        encodeBatch({ run: 'test', version, parentVersion: version - 1, samples: versioned }),
      )
      const data: EventData<'BatchReady'> = {
        ...(role === 'policy' ? {} : { role }),
        ...{ iteration: version, version, parentVersion: version - 1, format: 'rl-batch/1', file },
        parent: { run: 'test', sha256, path: path(version - 1) },
        ...{
          samples: samples.length,
          tokens: 1,
          trainedTokens: 1,
          trainedOn: ['s/0'],
          metrics: { reward: 0.5 },
        },
        options: training,
        ...{ seed: [...seed], deadlineSeconds: 600 },
      }
      head.service.append([{ type: 'BatchReady', data }])
      const figures = await model.update(samples, updateOptions(training, seed))
      await model.save(own(version))
      await until(
        `${updated} ${version}`,
        () => head.log.byKey(`${updated}/${version}`) !== null || trainer.exitCode !== null,
        400_000,
      )
      const answer = head.log.byKey(`${updated}/${version}`)
      assert.ok(answer, 'the trainer ended')
      const event = answer.data as EventData<'PolicyUpdated'>
      sha256 = event.checkpoint!.sha256
      assert.is(event.stopped, null)
      assert.is(event.metrics.reward, 0.5)
      assert.equal(event.trainedOn, ['s/0'])
      for (const key of ['loss', 'kl', 'entropy', 'clipShare', 'gradientNorm'] as const)
        assert.ok(
          Math.abs(event.metrics[key] - figures[key]) < 1e-3 * Math.max(1, Math.abs(figures[key])),
          `${key}: ${event.metrics[key]} where ours is ${figures[key]}`,
        )
      const apart = await difference(own(version - 1), own(version), place(version))
      console.log(
        `${name} ${lora ? 'adapter' : 'whole'}, version ${version}: ${apart.toExponential(1)} apart`,
      )
      assert.ok(apart < TOLERANCE * version, `${apart}`)
      if (processes > 1) continue
      // It begins again from what lies in the run's folder, moments included.
      trainer.kill('SIGKILL')
      trainer = startTrainer(head, role, words, processes)
    }
    head.service.append([{ type: 'RunCompleted', data: { iterations: 2, metrics: {} } }])
    await until('the end of the trainer', () => trainer.exitCode !== null, 120_000)
    assert.is(trainer.exitCode, 0)
  } finally {
    // torchrun ends its processes before itself, where it can.
    trainer.kill(processes > 1 ? 'SIGTERM' : 'SIGKILL')
    await model.close()
    log.close()
    await head.close()
  }
}

const missing = spawnSync(python, ['-c', MODULES]).status !== 0
if (missing)
  test('the trainer in PyTorch', () => {
    const versions = readFileSync('integrations/torch/constraints.txt', 'utf8').trim().split('\n').join(', ')
    console.log(`SKIP the trainer in PyTorch: ${python} has not ${versions} (RL_TEST_PYTHON names another)`)
  })
else {
  test('whole weights come out as from our own trainer, version after version, through a crash', () =>
    compare('nano', 'policy', false))
  test('so do those of the other shape', () => compare('tiny', 'policy', false))
  test('an adapter of the judge comes out as from our own trainer', () =>
    compare('nano', 'reward-model', true))
  test('two processes that share the weights give the same', async () => {
    await compare('nano', 'policy', false, 2)
    await compare('nano', 'reward-model', true, 2)
  })
}

test.run()
