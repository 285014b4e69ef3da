/**
 * config/smollm2.yaml in small: a released model of Llama's shape, policy and judge each an adapter on it. Both are taught at the
 * start, learn in every iteration, and what they learned is what acts and judges in the next.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { segmentSample } from '../src/actors/policy/samples.ts'
import { runFolder } from '../src/broker/connection.ts'
import { alfworldWords } from '../src/environments/alfworld/words.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { parseModelConfig } from '../src/models/local/config.ts'
import { openLocalModel } from '../src/models/local/model.ts'
import { readModelFolder } from '../src/models/local/model-folder.ts'
import { createTokenizer } from '../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../src/models/local/word-tokenizer.ts'
import type { TrainingSample } from '../src/models/port.ts'
import { cachePlace } from '../src/package.ts'
import { replay } from '../src/replay/replay.ts'
import { eventsBelow } from './support/logged.ts'
import { type Started, startProcess } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
const base = join(root, 'base')
const RUN = 'adapters'
const eventsOf = eventsBelow(root)

const SETTINGS = [
  ...['policy.lora.rank=4', 'policy.cacheMegabytes=64', 'backend=wasm'],
  ...['environment.tasks=6', 'environment.tasksPerIteration=3', 'environment.rolloutsPerTask=3'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=3', 'run.iterations=2', 'run.evaluateEvery=2'],
  ...['policy.coldStart.demonstrations=8', 'policy.coldStart.updates=4', 'policy.training.layers=1'],
  ...['policy.training.warmup=0', 'policy.training.minSamples=1', 'rewardModel.training.layers=1'],
  ...['rewardModel.coldStart.rollouts=6', 'rewardModel.coldStart.updates=2'],
  ...['rewardModel.accuracyRange=[0, 1]', 'learning.reward=integrated', 'learning.mixedOutcomes=false'],
  ...['policy.training.klLimit=null', 'adaptation.enabled=false', 'evaluation.tasks=2'],
]

/** What was taught is kept with the folder of its base, and those of this test are no more. */
test.after(() => {
  const kept = cachePlace('cold-start')
  for (const name of readdirSync(kept)) {
    const file = join(kept, name, 'adapter_config.json')
    const named = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).base_model_name_or_path : ''
    if (named.startsWith(root)) rmSync(join(kept, name), { recursive: true })
  }
})

test.before(async () => {
  const tokenizer = trainWordTokenizer({ words: alfworldWords() })
  const { size, endToken } = createTokenizer(tokenizer)
  const config = parseModelConfig({
    ...{ model_type: 'llama', vocab_size: size, hidden_size: 32, intermediate_size: 64 },
    ...{ num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, eos_token_id: endToken },
    ...{ max_position_embeddings: 2048, tie_word_embeddings: true },
  })
  const model = await openLocalModel({ config, tokenizer, seed: 4, backend: 'wasm' })
  await model.save(base)
  await model.close()
})

test('policy and judge are adapters on one base, and every version of theirs is the next iteration’s', async () => {
  const head = startLoop(RUN, [`policy.model=${base}`])
  assert.is(await head.status, 0, head.output())

  const [before, after] = [0, 1].map(
    (version) => eventsOf(RUN, ['PolicyUpdated']).find(({ data }) => data.version === version)!.data,
  )
  for (const type of ['PolicyUpdated', 'RewardModelUpdated'] as const) {
    const updates = eventsOf(RUN, [type]).map(({ data }) => data)
    assert.equal(
      updates.map(({ version, stopped }) => [version, stopped]),
      [0, 1, 2].map((version) => [version, null]),
    )
    assert.is(new Set(updates.map(({ checkpoint }) => checkpoint?.sha256)).size, 3)
    for (const { checkpoint } of updates) {
      const folder = folderOf(checkpoint)
      const read = await readModelFolder(folder)
      assert.equal([read.isAdapter, read.base], [true, base])
      assert.not.ok(existsSync(join(folder, 'model.safetensors')), 'the base is not written again')
    }
  }

  const played = eventsOf(RUN, ['TrajectoryCompleted']).map(({ data }) => data)
  const training = played.filter(({ purpose }) => purpose === 'train')
  assert.is(training.length, 18)
  for (const { iteration, policyVersion } of training) assert.is(policyVersion, iteration - 1)
  for (const { data } of eventsOf(RUN, ['StepScored']))
    assert.is(
      data.rewardModelVersion,
      training.find(({ rollout }) => rollout === data.rollout)!.iteration - 1,
    )

  const second = training.filter(({ iteration }) => iteration === 2)
  const samples = second.flatMap(({ segments, steps, rollout }) =>
    segments.flatMap((segment) => segmentSample(rollout, segment, new Float64Array(steps).fill(1)) ?? []),
  )
  assert.ok(samples.length >= second.length)
  assert.ok((await farthest(folderOf(after.checkpoint), samples)) < 1e-4, 'version 1 said it')
  assert.ok((await farthest(folderOf(before.checkpoint), samples)) > 1e-4, 'version 0 would not have')

  const reader = openLogReader(runFolder(RUN, root).log)
  try {
    assert.is(replay(reader).difference, null)
  } finally {
    reader.close()
  }
})

test('a base that lies elsewhere now brings no judge that was taught on where it lay', async () => {
  const moved = join(root, 'moved')
  renameSync(base, moved)
  const head = startLoop('moved', [`policy.model=${moved}`, 'run.iterations=1', 'evaluation.splits=[]'])
  assert.is(await head.status, 0, head.output())
  for (const { data } of eventsOf('moved', ['RewardModelUpdated']))
    assert.is(
      (await readModelFolder(join(runFolder('moved', root).folder, data.checkpoint!.path))).base,
      moved,
    )
})

function startLoop(run: string, settings: readonly string[]): Started {
  const words = [...SETTINGS, ...settings].flatMap((setting) => ['--set', setting])
  const config = ['--config', 'config/smollm2.yaml']
  return startProcess(['src/main.ts', '--role', 'head', '--run', run, ...config, ...words], { RL_RUNS: root })
}

function folderOf(checkpoint: { readonly path: string } | null): string {
  return join(runFolder(RUN, root).folder, checkpoint!.path)
}

/** Most that logged log-probs of trained tokens differ from those of a folder's model. */
async function farthest(folder: string, samples: readonly TrainingSample[]): Promise<number> {
  const model = await openLocalModel({ folder, backend: 'wasm' })
  try {
    const scored = await model.score(samples)
    return Math.max(
      ...samples.flatMap(({ mask, logprobs }, i) =>
        [...mask].flatMap((one, t) => (one ? [Math.abs(scored[i][t] - logprobs[t])] : [])),
      ),
    )
  } finally {
    await model.close()
  }
}

test.run()
