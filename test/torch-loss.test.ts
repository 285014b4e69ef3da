/**
 * The loss of integrations/torch beside ours, on the same random rows: its value, its gradient, and what it counts. RL_TEST_PYTHON
 * names a Python that has PyTorch; SKIP where it is missing.
 */
import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { itemAt } from '../src/item-at.ts'
import { openBackend } from '../src/models/local/backend/backend.ts'
import { type PolicyLossOptions, policyLoss, sampleWeights } from '../src/models/local/loss.ts'
import { rng } from '../src/random.ts'
import * as tf from '../src/tensorflow/tensorflow.ts'
import { lacks, PYTHON } from './support/python.ts'

const SCRIPT = `
import json, sys
import numpy as np
import torch
from types import SimpleNamespace
from rlanything_trainer.batch import token_weights
from rlanything_trainer.loss import policy_loss

for line in sys.stdin:
    case = json.loads(line)
    column = lambda name: torch.tensor(case[name], dtype=torch.float32)
    logprobs = column("logprobs").requires_grad_()
    entropies = column("entropies").requires_grad_()
    counts = case["counts"]
    masks = [np.array(mask) for mask in case["masks"]]
    starts = [None if one is None else np.array(one) for one in case["starts"]]
    samples = [SimpleNamespace(trained=n, mask=m, step_starts=s) for n, m, s in zip(counts, masks, starts)]
    weights = np.concatenate([np.zeros(n) + w for w, n in zip(token_weights(samples, case["options"]), counts)])
    weights = torch.tensor(weights, dtype=torch.float32)
    members = torch.tensor([s for s, n in enumerate(counts) for _ in range(n)])
    chosen = column("chosen") if case["options"].get("entropyShare", 1) < 1 else None
    loss, kl, drift, clipped = policy_loss(
        logprobs, column("behaviour"), column("reference"), column("advantages"), weights, members, case["options"],
        chosen=chosen, bonus=entropies / len(members) if case["options"].get("entropyWeight") else None,
    )
    gradients = torch.autograd.grad(loss, [logprobs, entropies], allow_unused=True, materialize_grads=True)
    told = {"loss": float(loss), "kl": float(kl), "clipped": float(clipped), "gradient": torch.cat(gradients).tolist()}
    print(json.dumps(told))
`

/** Keys of a run's training section, as BatchReady's options have them, beside the defaults below. */
type Training = Partial<Omit<Extract<PolicyLossOptions, { kind: 'policy' }>, 'aggregate' | 'kind'>> & {
  readonly aggregate?: 'sample' | 'step' | 'batch' | 'constant'
}

const DEFAULTS = { clipLow: 0.2, clipHigh: 0.28, dualClip: null, klWeight: 0.05, constantTokens: 50 }

const CASES: Readonly<Record<string, Training>> = {
  "PPO's clip": {},
  'dual clip': { dualClip: 3 },
  'ratio of the sample': { ratio: 'sequence', clipLow: 3e-3, clipHigh: 4e-3 },
  'ratio of the sample, its means and a dual clip': { ratio: 'sequence', aggregate: 'sample', dualClip: 2 },
  CISPO: { objective: 'cispo' },
  'CISPO by the ratio of the sample': { objective: 'cispo', ratio: 'sequence' },
  SAPO: { objective: 'sapo' },
  'SAPO by the ratio of the sample': { objective: 'sapo', ratio: 'sequence' },
  'mean over samples': { aggregate: 'sample' },
  'mean over steps': { aggregate: 'step' },
  'a constant in place of the length': { aggregate: 'constant' },
  'a limit for samples that the policy has left': { offPolicyLimit: 0.05 },
  'an entropy bonus': { entropyWeight: 0.02 },
  'a share of the tokens, with a bonus': { entropyWeight: 0.02, entropyShare: 0.5 },
  'no KL penalty': { klWeight: 0 },
}

/** Rows of six samples; the last has log-probs so far from those at sampling that ratios are cut. */
function randomRows(seed: number) {
  const random = rng([seed, 3])
  const counts = [1, 7, 3, 12, 5, 4]
  const rows = counts.reduce((a, b) => a + b, 0)
  const column = (draw: (row: number) => number) =>
    Array.from(Float32Array.from({ length: rows }, (_, r) => draw(r)))
  const far = (row: number) => (row >= rows - 4 ? (row % 2 === 0 ? 14 : -14) : 0)
  const logprobs = column(() => -4 * random.uniform())
  return {
    counts,
    // A token between two is not trained. Half of the samples say where their steps begin, and have longer ones.
    masks: counts.map((count) => [
      0,
      ...Array.from({ length: count }, (_, i) => (i % 3 === 0 ? [0, 1] : [1])).flat(),
    ]),
    starts: counts.map((count, s) => (s % 2 === 0 ? (count > 4 ? [1, 8] : [1]) : null)),
    logprobs,
    behaviour: column((r) => logprobs[r] + (random.uniform() - 0.5) * 1.5 + far(r)),
    reference: column((r) => logprobs[r] + (random.uniform() - 0.5) * 2 - far(r)),
    advantages: column((r) => (r % 9 === 0 ? 0 : random.uniform() * 4 - 2)),
    entropies: column(() => 3 * random.uniform()),
    chosen: column(() => (random.uniform() < 0.5 ? 1 : 0)),
  }
}

type Rows = ReturnType<typeof randomRows>
type Told = { loss: number; kl: number; clipped: number; gradient: number[] }

function ours(rows: Rows, { aggregate = 'batch', ...training }: Training): Told {
  const { counts } = rows
  const owner = counts.flatMap((count, s) => Array<number>(count).fill(s))
  const given = aggregate === 'constant' ? { constantTokens: DEFAULTS.constantTokens } : aggregate
  const samples = rows.masks.map((bits, s) => {
    const stepStarts = rows.starts[s]
    return { mask: Uint8Array.from(bits), ...(stepStarts ? { stepStarts: Int32Array.from(stepStarts) } : {}) }
  })
  const weights = sampleWeights(samples, given).flatMap((weight, s) =>
    typeof weight === 'number'
      ? Array<number>(itemAt(counts, s)).fill(weight)
      : [...weight].filter((_, t) => samples[s].mask[t] === 1),
  )
  const options: PolicyLossOptions = { ...DEFAULTS, ...training, kind: 'policy', aggregate: given }
  return tf.tidy(() => {
    const column = (values: readonly number[]) => tf.tensor1d([...values])
    const members = tf.tensor2d(counts.map((count, s) => owner.map((own) => (own === s ? 1 / count : 0))))
    const chosen = (options.entropyShare ?? 1) < 1 ? { chosen: column(rows.chosen) } : {}
    const termsOf = (logprobs: tf.Tensor, entropies: tf.Tensor) =>
      policyLoss(
        {
          logprobs: logprobs as tf.Tensor1D,
          entropies: entropies as tf.Tensor1D,
          ...{ behaviour: column(rows.behaviour), reference: column(rows.reference), members },
          ...{ advantages: column(rows.advantages), weights: column(weights) },
          ...{ entropyMean: 1 / owner.length, ...chosen },
        },
        options,
      )
    const [logprobs, entropies] = [column(rows.logprobs), column(rows.entropies)]
    const { loss, kl, clipped } = termsOf(logprobs, entropies)
    const byLogprob = tf.grad((x) => termsOf(x, entropies).loss)(logprobs)
    const byEntropy = options.entropyWeight
      ? tf.grad((x) => termsOf(logprobs, x).loss)(entropies)
      : tf.zerosLike(entropies)
    return {
      ...{ loss: loss.dataSync()[0], kl: kl.dataSync()[0], clipped: clipped.dataSync()[0] },
      gradient: [...byLogprob.dataSync(), ...byEntropy.dataSync()],
    }
  })
}

function theirs(lines: readonly object[]): Told[] {
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', SCRIPT], {
    encoding: 'utf8',
    input: lines.map((line) => JSON.stringify(line)).join('\n'),
    env: { ...process.env, PYTHONPATH: 'integrations/torch' },
  })
  assert.is(status, 0, stderr)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const near = (what: string, got: number, expected: number) =>
  assert.ok(
    Math.abs(got - expected) <= 2e-5 * Math.max(1, Math.abs(expected)),
    `${what}: ${got}, not ${expected}`,
  )

const lacking = lacks('torch', 'numpy', 'msgpack')
if (lacking) test('the loss in PyTorch', () => console.log(`SKIP the loss in PyTorch: ${lacking}`))
else {
  await openBackend('cpu')
  const table = Object.entries(CASES).flatMap(([name, training]) =>
    [1, 2].map((seed) => ({ name, training, rows: randomRows(seed) })),
  )
  let answers: readonly Told[] = []
  test.before(() => {
    const options = (training: Training) => ({ ...DEFAULTS, aggregate: 'batch', ...training })
    answers = theirs(table.map(({ rows, training }) => ({ ...rows, options: options(training) })))
  })
  for (const [i, { name, training, rows }] of table.entries())
    test(`${name}: value and gradient are ours (rows ${(i % 2) + 1})`, () => {
      const [got, expected] = [answers[i], ours(rows, training)]
      for (const key of ['loss', 'kl', 'clipped'] as const) near(key, got[key], expected[key])
      for (const [row, value] of expected.gradient.entries()) near(`row ${row}`, got.gradient[row], value)
      assert.ok(expected.gradient.some((value) => value !== 0))
    })
}

test.run()
