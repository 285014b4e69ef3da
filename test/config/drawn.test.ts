/**
 * Configs drawn from the schema: each is refused by name before anything starts, or its run reaches the end of an iteration. The short
 * run draws 200, and `npm run test:all` 2,000.
 */
import '../../src/setting-packages.ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type ConfigKey, configKeys } from '../../src/config/keys.ts'
import { openConfig } from '../../src/config.ts'
import { explain, RlError } from '../../src/errors.ts'
import { type Rng, rng, seedOf } from '../../src/random.ts'
import { loadAllUserParts } from '../../src/user-parts.ts'
import { playLoop } from '../actors/loop.ts'

const COUNT = Number(process.env.RL_TEST_DRAWN ?? 200)
/** A run that is played to the end of its only iteration in a moment. */
const SMALL = [
  ...['run.iterations=1', 'run.evaluateEvery=1', 'simulation.steps=3', 'evaluation.tasks=2'],
  ...['environment.tasks=6', 'environment.tasksPerIteration=3', 'environment.rolloutsPerTask=4'],
  ...['environment.minGroupSize=2', 'policy.provider=simulated'],
]
const SIMULATED = ['environment.name=simulated', 'rewardModel.provider=simulated']
/** Deciders are those of a real run; the learner is simulated here as well. */
const HOUSEHOLD = ['environment.name=alfworld', 'rewardModel.mode=off', 'learning.reward=outcome']
/** Names that a key can hold; others are drawn by the kind of their values. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  name: ['alfworld', 'simulated', 'agents', 'nowhere'],
  provider: ['local', 'openai', 'simulated', 'nobody'],
  model: ['nano', 'tiny', './no/such/folder', 'owner/name'],
  reward: ['outcome', 'integrated', 'progress', 'reward-model', 'nonsense'],
  advantage: ['step-index', 'task', 'leave-one-out', 'separate', 'nonsense'],
  filter: ['accuracy', 'nonsense'],
  rule: ['strict', 'inclusive', 'nonsense'],
  sampler: ['uniform', 'nonsense'],
  module: ['./no/such/module.ts'],
}
const KINDS: Readonly<Record<string, readonly unknown[]>> = {
  integer: [0, 1, 2, 3, 4, 5, 8, -1],
  number: [0, 0.1, 0.3, 0.5, 0.9, 1, 2, -1],
  boolean: [true, false],
  string: ['x', ''],
  map: [{}, { train: 'train' }],
  '[number, number]': [
    [0.2, 0.8],
    [0.8, 0.2],
    [0, 1],
  ],
}

function drawnValue({ path, values }: ConfigKey, draw: Rng): unknown {
  const kind = draw.pick((values ?? '').split(' | '))
  const names = NAMES[path.at(-1) ?? '']
  if (kind === 'null') return null
  if (kind === 'string' && names) return draw.pick(names)
  if (kind.startsWith('list of')) return draw.pick([[], ['x'], ['in-domain']])
  return draw.pick(KINDS[kind] ?? [kind])
}

/** One to five keys, as words of `--set`. */
function drawnWords(seed: number): string[] {
  const draw = rng(seedOf(seed, 'config'))
  const keys = configKeys().filter(({ values }) => values !== null)
  const words = Array.from({ length: 1 + draw.below(5) }, () => {
    const key = draw.pick(keys)
    return `${key.path.join('.')}=${JSON.stringify(drawnValue(key, draw))}`
  })
  const setting = draw.pick([SIMULATED, SIMULATED, HOUSEHOLD])
  return [...setting, ...SMALL, ...words]
}

/** Returns the refusal, or null if the run reached the end of an iteration. */
async function outcomeOf(set: readonly string[]): Promise<RlError | null> {
  let config: Awaited<ReturnType<typeof openConfig>>
  try {
    config = await openConfig({ set })
    // As a head does: a module that is not there ends a run before it begins.
    await loadAllUserParts(config)
  } catch (error) {
    if (error instanceof RlError) return error
    throw error
  }
  const { log } = playLoop({ config })
  assert.ok(
    log.some(({ type }) => type === 'IterationCompleted'),
    `${set.join(' ')}: no iteration ended`,
  )
  return null
}

test(`each of ${COUNT} drawn configs is refused by name, or its run reaches the end of an iteration`, async () => {
  const counts = { refused: 0, played: 0 }
  for (let seed = 0; seed < COUNT; seed++) {
    const set = drawnWords(seed)
    const refusal = await outcomeOf(set).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${set.join(' ')}: ${explain(error)}`)
    })
    counts[refusal ? 'refused' : 'played']++
    if (!refusal) continue
    assert.match(refusal.code, /^(config|provider|rule|module|setting)\./, `seed ${seed}: ${refusal.message}`)
    assert.match(refusal.message, /[a-z]\w*(\.[\w-]+)*: /i, `seed ${seed}: ${refusal.message}`)
  }
  assert.ok(counts.played > COUNT / 10 && counts.refused > COUNT / 10, JSON.stringify(counts))
})

const refusalOf = async (...set: readonly string[]) => {
  const refusal = await outcomeOf(set)
  assert.ok(refusal, set.join(' '))
  assert.is(refusal.code, 'config.invalid')
  return refusal.message
}

test('a simulated judge is refused for a setting whose steps it cannot judge', async () => {
  assert.match(
    await refusalOf('rewardModel.provider=simulated'),
    /rewardModel\.provider: 'simulated' judges no episodes of the setting 'alfworld'/,
  )
})

test('choices are refused for a policy that answers prompts', async () => {
  assert.match(
    await refusalOf('policy.provider=openai', 'rewardModel.mode=off', 'learning.reward=outcome'),
    /policy\.acting: 'choices' is not for provider openai/,
  )
})

test('choices are refused for a setting whose actions are texts, whoever acts', async () => {
  const coding = ['environment.name=coding', 'rewardModel.mode=off', 'learning.reward=outcome']
  for (const provider of ['simulated', 'openai'])
    assert.match(
      await refusalOf(...coding, `policy.provider=${provider}`, 'policy.acting=choices'),
      new RegExp(`policy\\.acting: 'choices' is not for provider ${provider} and the setting 'coding'`),
    )
})

test('a model path that does not exist is refused', async () => {
  assert.match(
    await refusalOf('policy.model=./no/such/folder'),
    /policy\.model: there is no folder or file .*no\/such\/folder/,
  )
  const estimates = ['rewardModel.provider=local', 'rewardModel.form=estimate', 'learning.reward=outlook']
  assert.match(
    await refusalOf(...estimates, 'rewardModel.model=nanno4'),
    /rewardModel\.model: there is no folder .*nanno4 with a model/,
  )
})

test.run()
