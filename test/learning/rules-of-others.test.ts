/**
 * Our advantages and losses beside those of others: TRL and verl, at the versions of test/learning/requirements.txt. RL_TEST_PYTHON
 * names a Python that has them; SKIP where they are missing. Ours are computed without the small constants that both add to a deviation.
 */
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { itemAt } from '../../src/item-at.ts'
import { type AdvantageOptions, advantages } from '../../src/learning/advantage.ts'
import { ADVANTAGES } from '../../src/learning/advantage-rules.ts'
import { moments } from '../../src/learning/moments.ts'
import { stateValues } from '../../src/learning/published/state-values.ts'
import type { PlayedRollout } from '../../src/learning/rules.ts'
import type { RewardedRollout } from '../../src/learning/terms.ts'
import { openBackend } from '../../src/models/local/backend/backend.ts'
import {
  type PolicyLossOptions,
  policyLoss,
  readsSamples,
  tokenWeights,
} from '../../src/models/local/loss.ts'
import { rng } from '../../src/random.ts'
import * as tf from '../../src/tensorflow/tensorflow.ts'
import { lacks, PYTHON } from '../support/python.ts'

const GROUPS = 1000
/** Groups whose losses are one batch. */
const GROUPS_A_BATCH = 50
const SAMPLES_A_GROUP = 4
/** What they add to a deviation. */
const ADDED = { trl: 1e-4, verl: 1e-6 }
const NEAR = 1e-6

const random = rng([44, 4])
const drawn = (count: number, draw: (index: number) => number) =>
  Array.from({ length: count }, (_, i) => draw(i))

/** Rewards of a group: successes, graded ones or any, and now and then all alike. */
function group(size: number, index: number): number[] {
  const kind = index % 4
  const alike = 2 * random.uniform() - 1
  return drawn(size, () =>
    kind === 3 && index % 8 === 3
      ? alike
      : kind === 0
        ? random.uniform() < 0.4
          ? 1
          : -1
        : kind === 1
          ? Math.floor(random.uniform() * 5) / 2 - 1
          : 2 * random.uniform() - 1,
  )
}

const even = Array.from({ length: GROUPS }, (_, i) => group(8, i))
const uneven = Array.from({ length: GROUPS }, (_, i) => group(2 + (i % 15), i))

type Batch = ReturnType<typeof batch>

/** Samples of 1 to 9 tokens. Log-probs at the start of the update and at sampling lie around those of now. */
function batch() {
  const counts = drawn(GROUPS_A_BATCH * SAMPLES_A_GROUP, () => 1 + Math.floor(random.uniform() * 9))
  const rows = counts.reduce((sum, count) => sum + count, 0)
  const column = (draw: (row: number) => number) => [...Float32Array.from(drawn(rows, draw))]
  const bySample = drawn(counts.length, (s) => (s % 11 === 0 ? 0 : 3 * random.uniform() - 1.5))
  const owner = counts.flatMap((count, s) => Array<number>(count).fill(s))
  const logprobs = column(() => -3 * random.uniform())
  const around = (width: number) => column((r) => itemAt(logprobs, r) + (random.uniform() - 0.5) * width)
  const started = around(0.8)
  return {
    ...{ counts, logprobs, started, owner },
    behaviour: column((r) => itemAt(started, r) + (random.uniform() - 0.5) * 0.8),
    reference: around(1),
    advantages: column((r) => itemAt(bySample, itemAt(owner, r))),
  }
}

const batches = Array.from({ length: GROUPS / GROUPS_A_BATCH }, batch)

type Ours = Partial<Omit<PolicyLossOptions, 'kind' | 'aggregate'>> & {
  readonly aggregate?: Parameters<typeof tokenWeights>[1]
}
type Case = { readonly name: string; readonly ours: Ours } & Readonly<Record<string, unknown>>

const CLIPS = { clipLow: 0.2, clipHigh: 0.28 }
const UPPER = { epsilon_low: 0.2, epsilon_high: 0.28 }
const KL = { klWeight: 0.05 }
const WEIGHED = (kind: 'truncate' | 'mask', level: 'token' | 'sequence') => ({
  name: `importance weights: ${kind} by ${level}`,
  ours: { ...CLIPS, mismatch: { kind, level, limit: 1.2 } },
  trl: UPPER,
  mismatch: { mode: `${level}_${kind}`, limit: 1.2 },
})

const TRL: readonly Case[] = [
  { name: "PPO's clip, by the batch (DAPO)", ours: { clipLow: 0.2, clipHigh: 0.2 }, trl: {} },
  { name: 'a higher clip above', ours: CLIPS, trl: UPPER },
  {
    name: 'by the sample (GRPO)',
    ours: { ...CLIPS, aggregate: 'sample' },
    trl: { ...UPPER, loss_type: 'grpo' },
  },
  { name: 'by the batch (BNPO)', ours: CLIPS, trl: { ...UPPER, loss_type: 'bnpo' } },
  {
    name: 'by a constant (Dr. GRPO)',
    ours: { ...CLIPS, aggregate: { constantTokens: 7 } },
    trl: { ...UPPER, loss_type: 'dr_grpo', max_completion_length: 7 },
  },
  { name: 'dual clip', ours: { ...CLIPS, dualClip: 1.4 }, trl: { ...UPPER, delta: 1.4 } },
  {
    name: 'ratio of the sample (GSPO)',
    ours: { clipLow: 0.02, clipHigh: 0.03, ratio: 'sequence', aggregate: 'sample' },
    trl: { epsilon_low: 0.02, epsilon_high: 0.03, importance_sampling_level: 'sequence', loss_type: 'grpo' },
  },
  { name: 'the k3 of KL', ours: { ...CLIPS, ...KL }, trl: { ...UPPER, beta: 0.05 } },
  // Its bound is the ratio itself, and ours the part above 1.
  { name: 'CISPO', ours: { ...CLIPS, objective: 'cispo' }, trl: { loss_type: 'cispo', epsilon_high: 1.28 } },
  { name: 'SAPO', ours: { objective: 'sapo', aggregate: 'sample' }, trl: { loss_type: 'sapo' } },
  {
    name: 'a limit for samples that the policy has left',
    ours: { ...CLIPS, offPolicyLimit: 0.05 },
    trl: { ...UPPER, off_policy_mask_threshold: 0.05 },
  },
  WEIGHED('truncate', 'token'),
  WEIGHED('truncate', 'sequence'),
  WEIGHED('mask', 'token'),
  WEIGHED('mask', 'sequence'),
]

/** A dual clip that no ratio here reaches. verl always has one. */
const FREE = { clip_ratio_c: 1e6 }
const HIGHER = {
  loss: 'vanilla',
  aggregate: 'token-mean',
  clip_ratio_low: 0.2,
  clip_ratio_high: 0.28,
  ...FREE,
}
const VERL_WEIGHED = (kind: 'truncate' | 'mask', level: 'token' | 'sequence') => ({
  name: `importance weights: ${kind} by ${level}`,
  ours: { ...CLIPS, mismatch: { kind, level, limit: 1.2 } },
  verl: { ...HIGHER, weights: { level, limit: kind === 'mask' ? '1e-12_1.2' : 1.2 } },
})

const VERL: readonly Case[] = [
  { name: 'a higher clip above, by the batch', ours: CLIPS, verl: HIGHER },
  {
    name: 'by the sample',
    ours: { ...CLIPS, aggregate: 'sample' },
    verl: { ...HIGHER, aggregate: 'seq-mean-token-mean' },
  },
  {
    name: 'by a constant',
    ours: { ...CLIPS, aggregate: { constantTokens: 7 } },
    verl: { ...HIGHER, aggregate: 'seq-mean-token-sum-norm', scale: 7 },
  },
  { name: 'dual clip', ours: { ...CLIPS, dualClip: 1.4 }, verl: { ...HIGHER, clip_ratio_c: 1.4 } },
  { name: 'the k3 of KL', ours: { ...CLIPS, ...KL }, verl: { ...HIGHER, kl: 0.05 } },
  {
    name: 'ratio of the sample (GSPO)',
    ours: { clipLow: 0.02, clipHigh: 0.03, ratio: 'sequence', aggregate: 'sample' },
    verl: { loss: 'gspo', aggregate: 'seq-mean-token-mean', clip_ratio_low: 0.02, clip_ratio_high: 0.03 },
  },
  {
    name: 'CISPO',
    ours: { ...CLIPS, objective: 'cispo' },
    // It clips below too. Ours does not, as in the paper.
    verl: { loss: 'cispo', aggregate: 'token-mean', clip_ratio_low: 1, clip_ratio_high: 0.28 },
  },
  VERL_WEIGHED('truncate', 'token'),
  VERL_WEIGHED('truncate', 'sequence'),
  VERL_WEIGHED('mask', 'token'),
  VERL_WEIGHED('mask', 'sequence'),
]

type Told = { readonly loss: number; readonly gradient: readonly number[] }
type Answer = {
  readonly advantages: Readonly<Record<string, readonly number[]>>
  readonly gae?: readonly (readonly number[])[]
  readonly losses: Readonly<Record<string, readonly Told[]>>
}

async function theirs(given: object): Promise<Answer> {
  const child = spawn(PYTHON, [fileURLToPath(new URL('rules_of_others.py', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  child.stdin.end(JSON.stringify(given))
  assert.is(await ended, 0)
  return JSON.parse(output)
}

/** Returns our advantages as if something were added to the divisor, which is the deviation of the group if it is null. */
function withAdded(
  groups: readonly (readonly number[])[],
  ours: readonly number[],
  added: number,
  divisor: number | null,
): number[] {
  const factors = groups.flatMap((rewards) => {
    const by = divisor ?? moments(rewards, 'sample').deviation
    return rewards.map(() => (by === Infinity ? 1 : by / (by + added)))
  })
  return ours.map((value, i) => value * itemAt(factors, i))
}

/** Returns what keeps verl from being read, or null. Its trainer's own packages are not needed, so it may lack them. */
function lacksVerl(): string | null {
  const { status, stderr } = spawnSync(
    PYTHON,
    ['-c', 'import importlib.util as u, sys; sys.exit(u.find_spec("verl") is None)'],
    { encoding: 'utf8' },
  )
  return status === 0 ? null : `${PYTHON} lacks verl ${stderr.trim()}`
}

function oursOf(
  groups: readonly (readonly number[])[],
  rule: string,
  options: Partial<AdvantageOptions>,
): number[] {
  const rollouts: RewardedRollout[] = groups.flatMap((rewards, g) =>
    rewards.map((reward, i) => ({
      id: `${g}/${i}`,
      task: String(g),
      outcome: reward > 0 ? 1 : -1,
      graded: reward,
      scores: [0],
    })),
  )
  const { byRollout } = advantages(rollouts, ADVANTAGES.find(({ name }) => name === rule)!, {
    ...{ weights: { outcome: 1, step: 0 }, single: 'zero', stdFloor: 0, deviation: 'sample' },
    ...options,
  })
  return rollouts.map(({ id }) => itemAt(byRollout.get(id)!, 0))
}

function lossOf({ counts, owner, ...rows }: Batch, options: Ours): Told {
  const { aggregate = 'batch' } = options
  const byToken = tokenWeights(counts, aggregate)
  const whole: PolicyLossOptions = {
    dualClip: null,
    klWeight: 0,
    ...CLIPS,
    ...options,
    aggregate,
    kind: 'policy',
  }
  return tf.tidy(() => {
    const column = (values: readonly number[]) => tf.tensor1d([...values])
    const members = readsSamples(whole)
      ? { members: tf.tensor2d(counts.map((count, s) => owner.map((own) => (own === s ? 1 / count : 0)))) }
      : {}
    const lossBy = (logprobs: tf.Tensor) =>
      policyLoss(
        {
          ...{ logprobs: logprobs as tf.Tensor1D, weights: column(owner.map((s) => itemAt(byToken, s))) },
          ...members,
          ...{ behaviour: column(rows.behaviour), reference: column(rows.reference) },
          ...{ advantages: column(rows.advantages) },
          ...(options.mismatch ? { started: column(rows.started) } : {}),
        },
        whole,
      ).loss
    const { value, grad } = tf.valueAndGrad((own) => lossBy(own))(column(rows.logprobs))
    return { loss: itemAt(value.dataSync(), 0), gradient: [...grad.dataSync()] }
  })
}

function near(what: string, got: readonly number[], expected: readonly number[]): void {
  assert.is(got.length, expected.length, what)
  for (const [i, value] of expected.entries()) {
    const difference = Math.abs(itemAt(got, i) - value)
    assert.ok(difference <= NEAR, `${what}, ${i}: ${got[i]}, not ${value}`)
  }
}

function compareLosses(of: string, cases: readonly Case[], answer: Promise<Answer>): void {
  for (const { name, ours } of cases)
    test(`${of}: ${name}: loss and gradient`, async () => {
      const told = (await answer).losses[name] ?? []
      assert.is(told.length, batches.length)
      let moved = 0
      for (const [i, one] of batches.entries()) {
        const [got, expected] = [lossOf(one, ours), itemAt(told, i)]
        near(`${name}: loss`, [got.loss], [expected.loss])
        near(`${name}: gradient`, got.gradient, expected.gradient)
        moved += got.gradient.filter((value) => value !== 0).length
      }
      assert.ok(moved > GROUPS)
    })
}

const GAMMA = 0.9
const TRACE = 0.8

type Walk = {
  readonly outcome: number
  readonly scores: readonly number[]
  readonly states: readonly string[]
}

/** Rollouts of one task that pass through few states, so that most states are seen more than once. */
const walks: readonly (readonly Walk[])[] = Array.from({ length: GROUPS / 4 }, () =>
  drawn(4, () => 1 + Math.floor(5 * random.uniform())).map((steps) => ({
    outcome: random.uniform() < 0.5 ? 1 : -1,
    scores: drawn(steps, () => 2 * random.uniform() - 1),
    states: Array.from({ length: steps }, () => itemAt(['hall', 'cellar'], Math.floor(2 * random.uniform()))),
  })),
)

/** Returns rewards and values of each step, as a critic would give them: the mean return of the state, or of the index. */
function valued(group: readonly Walk[]): { readonly rewards: number[]; readonly values: number[] }[] {
  const rewards = group.map(({ outcome, scores }) =>
    scores.map((score, t) => 0.3 * score + (t === scores.length - 1 ? outcome : 0)),
  )
  const returns = rewards.map((own) =>
    own.map((_, t) => own.slice(t).reduce((sum, r, j) => sum + GAMMA ** j * r, 0)),
  )
  const mean = (belongs: (walk: Walk, t: number) => boolean) => {
    const all = returns.flatMap((own, i) => own.filter((_, t) => belongs(itemAt(group, i), t)))
    return { n: all.length, mean: all.reduce((sum, value) => sum + value, 0) / all.length }
  }
  return group.map(({ states }, i) => ({
    rewards: itemAt(rewards, i),
    values: states.map((state, t) => {
      const own = mean((walk, at) => walk.states[at] === state)
      return own.n > 1 ? own.mean : mean((_, at) => at === t).mean
    }),
  }))
}

function walked(states: readonly string[]): PlayedRollout {
  return {
    ...{
      id: '',
      task: '',
      value: 0,
      ended: 'goal',
      completionTokens: 0,
      actions: states,
      judgements: [],
      progress: [],
    },
    ...{ logprobs: null, noops: null, invalid: null, errors: null, durationsMs: null },
    observations: [...states, 'end'],
  }
}

const noTrl = lacks('torch', 'trl.trainer.grpo_trainer')
const noVerl = lacks('torch', 'transformers') ?? lacksVerl()
/** Asked at once, since each takes seconds to load its packages. */
const trl = noTrl ? null : theirs({ package: 'trl', groups: even, cases: TRL, batches })
const gae = { rows: walks.flatMap(valued), gamma: GAMMA, trace: TRACE }
const verl = noVerl ? null : theirs({ package: 'verl', groups: uneven, gae, cases: VERL, batches })
test.before(async () => {
  await openBackend('cpu')
})

if (trl === null) test('formulas of TRL', () => console.log(`SKIP formulas of TRL: ${noTrl}`))
else {
  for (const scale of ['group', 'batch', 'none'] as const)
    test(`TRL: advantages with scale ${scale}`, async () => {
      const whole = moments(even.flat(), 'sample').deviation
      const ours = oursOf(even, 'task', { scale })
      const divisor = { group: null, batch: whole, none: Infinity }[scale]
      near(scale, withAdded(even, ours, ADDED.trl, divisor), (await trl).advantages[scale] ?? [])
    })
  compareLosses('TRL', TRL, trl)
}

if (verl === null) test('formulas of verl', () => console.log(`SKIP formulas of verl: ${noVerl}`))
else {
  for (const [name, rule, options] of [
    ['std', 'task', {}],
    ['std', 'step-index', {}],
    ['mean', 'task', { scale: 'none' }],
    ['rloo', 'leave-one-out', {}],
  ] as const)
    test(`verl: advantages, ${name} as ${rule}`, async () => {
      const ours = withAdded(
        uneven,
        oursOf(uneven, rule, options),
        ADDED.verl,
        name === 'std' ? null : Infinity,
      )
      near(rule, ours, (await verl).advantages[name] ?? [])
    })
  test('verl: advantages from values, as state-values', async () => {
    const rule = stateValues.tuned({ gamma: GAMMA, trace: TRACE })
    const options = { weights: { outcome: 1, step: 0.3 }, single: 'zero', stdFloor: 0 } as const
    const ours = walks.flatMap((group) =>
      rule.advantages(
        group.map(({ outcome, scores }) => ({ id: '', task: '', outcome: outcome > 0 ? 1 : -1, scores })),
        options,
        { groups: 0, flat: 0, single: 0 },
        group.map(({ states }) => walked(states)),
      ),
    )
    for (const [i, own] of ours.entries())
      near('state-values', [...Array.from(own)], (await verl).gae?.[i] ?? [])
  })
  compareLosses('verl', VERL, verl)
}

test.run()
