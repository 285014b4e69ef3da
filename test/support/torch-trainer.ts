/** The trainer of integrations/torch beside our own: both make the same updates of the same weights, and are compared. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { encodeBatch } from '../../src/actors/learner/batch-file.ts'
import { type Training, updateOptions } from '../../src/actors/learner/update-options.ts'
import { environmentOf } from '../../src/broker/connection.ts'
import { parseConfig } from '../../src/config.ts'
import type { EventData, NewEvent } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { readCheckpoint } from '../../src/models/local/checkpoint.ts'
import type { LoraConfig } from '../../src/models/local/lora.ts'
import { type LocalModelFace, openLocalModel } from '../../src/models/local/model.ts'
import { readModelFolder } from '../../src/models/local/model-folder.ts'
import type { TrainingSample } from '../../src/models/port.ts'
import type { Rng } from '../../src/random.ts'
import { lacks, PYTHON } from './python.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from './run.ts'

type Role = 'policy' | 'reward-model'

export type Version = {
  /** Beside the defaults of the config. */
  readonly training: Partial<Training>
  readonly samples: (model: LocalModelFace) => Promise<readonly TrainingSample[]>
  /** Of the log-probs; 1 where absent. */
  readonly temperature?: number
  /** What of the update may differ, as a share of its length. */
  readonly tolerance: number
  /** Its only step goes beyond the KL limit and is taken back: the weights stay. */
  readonly takenBack?: true
}

export type Comparison = {
  readonly name: string
  /** Folder of the weights. */
  readonly base: string
  readonly role: Role
  /** Null where all weights are trained. */
  readonly adapter: LoraConfig | null
  /** Several are started by torchrun, and share the weights (FSDP). */
  readonly processes?: number
  /** An installed one in place of the module in this folder. */
  readonly command?: string
  readonly versions: readonly Version[]
}

const root = temporaryFolder()

/** Null where Python has what the trainer needs, else what it lacks. */
export function lacksTrainer(): string | null {
  const lacking = lacks('torch', 'transformers', 'peft', 'safetensors', 'nats', 'msgpack')
  const versions = () =>
    readFileSync('integrations/torch/constraints.txt', 'utf8').trim().split('\n').join(', ')
  return lacking && `${lacking} with ${versions()}`
}

/**
 * A sequence that the model continued after `prompt` tokens, as if an older version had sampled it: ratios are not 1, and the
 * advantages are of both signs.
 */
export async function sampleOf(
  model: LocalModelFace,
  { id, tokens, prompt, restricted }: { id: string; tokens: Int32Array; prompt: number; restricted: boolean },
  random: Rng,
): Promise<TrainingSample> {
  const mask = new Uint8Array(tokens.length).fill(1, prompt)
  const advantages = Float32Array.from(mask, (one) => one * (random.uniform() * 2 - 1))
  const offsets = new Int32Array(tokens.length + 1)
  const values: number[] = []
  for (let t = 0; t < tokens.length; t++) {
    if (restricted && mask[t] && t % 2 === 0) {
      const others = [1, 2, 3].map((step) => (tokens[t] + step) % model.tokenizer.size)
      values.push(...[tokens[t], ...others].sort((a, b) => a - b))
    }
    offsets[t + 1] = values.length
  }
  const allowed = restricted ? { offsets, tokens: Int32Array.from(values) } : undefined
  const [logprobs] = await model.score([{ tokens, mask, allowed }])
  const older = logprobs.map((value, t) => (mask[t] ? value + random.uniform() - 0.5 : 0))
  return { id, tokens, mask, advantages, logprobs: older, allowed }
}

/** As a head begins a run with what of its config a trainer asks for. */
export const runStarted = (config: Record<string, unknown>): NewEvent => ({
  type: 'RunStarted',
  data: { config, configDigest: '0'.repeat(64), codeVersion: 'test', seed: 1, parent: null },
})

function startTrainer(
  head: TestHead,
  { role, processes = 1, command }: Pick<Comparison, 'role' | 'processes' | 'command'>,
  words: readonly string[],
): ChildProcess {
  const torchrun = ['torch.distributed.run', '--standalone', '--nproc-per-node', `${processes}`, '-m', '--']
  const program = ['-m', ...(processes > 1 ? torchrun : []), 'rlanything_trainer']
  const args = ['--run', 'test', '--role', role, '--runs', root, ...words]
  return spawn(command ?? PYTHON, [...(command ? [] : program), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      ...environmentOf(head.addressOf(`${role}-worker`)),
      ...(command ? {} : { PYTHONPATH: 'integrations/torch' }),
      // Tolerances are those of float32. A GPU computes in bfloat16.
      ...{ HF_HUB_OFFLINE: '1', GLOO_SOCKET_IFNAME: 'lo', CUDA_VISIBLE_DEVICES: '' },
    },
  })
}

/** Of the adapter alone where the folder has one. */
async function weightsIn(folder: string): Promise<ReadonlyMap<string, Float32Array>> {
  const { weights, adapter } = await readCheckpoint(await readModelFolder(folder))
  return new Map(adapter ? adapter.tensors.map(({ name, values }) => [name, values]) : weights)
}

/** Length of the difference of two updates of the same weights, as a share of the first one's. */
async function difference(before: string, ours: string, theirs: string): Promise<number> {
  const [from, a, b] = await Promise.all([before, ours, theirs].map(weightsIn))
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

/** Version after version, through a kill after each: what is remembered lies in the run's folder. */
export async function compare(comparison: Comparison): Promise<void> {
  const { name, base, role, adapter, processes = 1, versions } = comparison
  const { policy } = parseConfig({})
  const head = await startTestHead()
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'head' })
  const path = (version: number) => `checkpoints/${role}/0000${version}`
  /** Where each version lies: the trainer says it of its own. */
  const paths = [path(0)]
  const place = (version: number) => join(root, 'test', paths[version])
  const own = (version: number) => (version === 0 ? place(0) : join(root, `${name}-own-${version}`))
  const model = await openLocalModel({
    ...{ folder: base, backend: 'wasm' },
    ...(adapter ? { lora: { ...adapter, seed: 3 } } : {}),
  })
  let sha256 = await model.save(place(0))
  head.service.append([
    runStarted({ [role === 'policy' ? 'policy' : 'rewardModel']: { trainer: 'external' } }),
  ])
  const words = ['--base', base, ...(adapter ? [] : ['--full'])]
  const updated = role === 'policy' ? 'PolicyUpdated' : 'RewardModelUpdated'
  let trainer = startTrainer(head, comparison, words)
  try {
    for (const [
      i,
      { training: given, samples: make, temperature = 1, tolerance, takenBack },
    ] of versions.entries()) {
      const version = i + 1
      const { expert, ...usual } = policy.training
      const training = { ...usual, ...expert, ...given }
      const samples = await make(model)
      const seed = [version, 11] as const
      const versioned = samples.map((sample) => ({ ...sample, policyVersion: version - 1 }))
      const file = await log.putBlob(
        encodeBatch({ run: 'test', version, parentVersion: version - 1, samples: versioned }),
      )
      const data: EventData<'BatchReady'> = {
        ...(role === 'policy' ? {} : { role }),
        ...{ iteration: version, version, parentVersion: version - 1, format: 'rl-batch/1', file },
        parent: { run: 'test', sha256, path: paths[version - 1] },
        ...{ samples: samples.length, tokens: 1, trainedTokens: 1, trainedOn: ['s/0'] },
        metrics: { reward: 0.5 },
        options: { ...training, ...(temperature === 1 ? {} : { temperature }) },
        ...{ seed: [...seed], deadlineSeconds: 600 },
      }
      head.service.append([{ type: 'BatchReady', data }])
      const most = Math.min(training.tokenBudget, model.describe().contextTokens)
      const fitting = samples.filter(({ tokens }) => tokens.length <= most)
      const referred = training.klReference === 'base' ? await withBase(base, fitting, temperature) : fitting
      const figures = await model.update(referred, updateOptions(training, seed, temperature))
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
      paths.push(event.checkpoint!.path)
      assert.is(paths[version], `${path(version)}-${sha256.slice(0, 8)}`)
      for (const stopped of [event.stopped?.split(' ')[0], figures.stopped?.reason])
        assert.is(stopped, takenBack && 'kl')
      assert.is(event.metrics.updates, figures.updates)
      assert.is(event.metrics.klHalvings, figures.klHalvings)
      assert.is(event.metrics.reward, 0.5)
      assert.is(event.metrics.droppedTooLong ?? 0, samples.length - fitting.length)
      assert.equal(event.trainedOn, ['s/0'])
      const { tokensPerSecond, peakMemoryBytes } = event.timing as Record<string, number>
      assert.ok(
        tokensPerSecond > 0 && peakMemoryBytes > 1e8,
        `${tokensPerSecond} tokens/s, ${peakMemoryBytes} bytes`,
      )
      for (const key of ['loss', 'kl', 'entropy', 'clipShare', 'gradientNorm'] as const)
        assert.ok(
          Math.abs(event.metrics[key] - figures[key]) < 1e-3 * Math.max(1, Math.abs(figures[key])),
          `${key}: ${event.metrics[key]} where ours is ${figures[key]}`,
        )
      if (takenBack) assert.equal(await weightsIn(place(version)), await weightsIn(place(version - 1)))
      else {
        const apart = await difference(own(version - 1), own(version), place(version))
        console.log(
          `${name} ${adapter ? 'adapter' : 'whole'}, version ${version}: ${apart.toExponential(1)} apart`,
        )
        assert.ok(apart < tolerance, `${apart}`)
      }
      if (processes > 1 || version === versions.length) continue
      trainer.kill('SIGKILL')
      trainer = startTrainer(head, comparison, words)
    }
    head.service.append([{ type: 'RunCompleted', data: { iterations: versions.length, metrics: {} } }])
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

/** The samples with the base model's log-probs as the KL reference, where they bring none. */
async function withBase(
  folder: string,
  samples: readonly TrainingSample[],
  temperature: number,
): Promise<readonly TrainingSample[]> {
  if (samples.some(({ referenceLogprobs }) => referenceLogprobs)) return samples
  const base = await openLocalModel({ folder, backend: 'wasm' })
  const logprobs = await base.score(samples, { temperature })
  await base.close()
  return samples.map((sample, i) => ({ ...sample, referenceLogprobs: logprobs[i] }))
}
