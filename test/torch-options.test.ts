/**
 * integrations/torch and our own trainer where a run's options are others than the defaults: KL references, temperatures, objectives,
 * means, and samples that are too long. SKIP without the packages (RL_TEST_PYTHON).
 */
import { test } from 'uvu'
import type { LocalModelFace } from '../src/models/local/model.ts'
import type { TrainingSample } from '../src/models/port.ts'
import { rng } from '../src/random.ts'
import { batchOf, compareTiny, TOLERANCE } from './support/torch-tiny.ts'
import { lacksTrainer, sampleOf, type Version } from './support/torch-trainer.ts'

/** With log-probs of the KL reference, and one sample that no pass can take. */
async function referredBatch(model: LocalModelFace): Promise<TrainingSample[]> {
  const random = rng([9, 7])
  const samples = (await batchOf(3)(model)).map((sample) => ({
    ...sample,
    referenceLogprobs: sample.logprobs.map((value, t) => value + sample.mask[t] * (random.uniform() - 0.5)),
  }))
  const tokens = new Int32Array(65).fill(1)
  const long = await sampleOf(model, { id: 's/long#0', tokens, prompt: 60, restricted: false }, random)
  return [...samples, { ...long, referenceLogprobs: long.logprobs }]
}

const OTHERWISE: readonly Version[] = [
  {
    training: {
      ...{ klLimit: null, tokenBudget: 64, klWeight: 0.3, klReference: 'base', objective: 'cispo' },
      ...{ aggregate: 'constant', constantTokens: 30 },
    },
    ...{ samples: referredBatch, tolerance: TOLERANCE },
  },
  {
    training: {
      ...{ klLimit: null, tokenBudget: 64, klWeight: 0.3, klReference: 'base', objective: 'sapo' },
      ...{ ratio: 'sequence', aggregate: 'sample' },
    },
    ...{ samples: batchOf(4), temperature: 0.7, tolerance: 2 * TOLERANCE },
  },
]

/** Steps of such a length go beyond the limit: those of the first version can be halved often enough, that of the second cannot. */
const tooLong = (klHalvings: number): Version => ({
  training: { klHalvings, klLimit: 0.15, learningRate: 0.3, tokenBudget: 64, updates: 3 },
  ...{ samples: batchOf(6), tolerance: TOLERANCE },
})
const LEASHED: readonly Version[] = [tooLong(8), { ...tooLong(1), takenBack: true }]

/** Weights that had no gradient in the first version have one in the second: Adam counts their steps all the same. */
const UNEVEN: readonly Version[] = [{ layers: 1, updates: 4 }, { updates: 1 }].map((given, i) => ({
  training: { klLimit: null, tokenBudget: 64, ...given },
  ...{ samples: batchOf(7 + i), tolerance: TOLERANCE },
}))

const lacking = lacksTrainer()
if (lacking)
  test('options of the trainer in PyTorch', () => {
    console.log(`SKIP options of the trainer in PyTorch: ${lacking}`)
  })
else {
  test('an adapter comes out as ours with a KL to what is given and to the base, another temperature, objective and mean', () =>
    compareTiny('nano', { role: 'policy', lora: true, versions: OTHERWISE }))
  test('steps that go beyond the KL limit are halved and taken back as ours are', () =>
    compareTiny('nano', { role: 'policy', lora: true, versions: LEASHED }))
  test('layers that did not learn so far learn as ours do', () =>
    compareTiny('nano', { role: 'policy', lora: true, versions: UNEVEN }))
  test('whole weights have a KL to the base as well', () =>
    compareTiny('nano', { role: 'policy', lora: false, versions: OTHERWISE.slice(1) }))
}

test.run()
