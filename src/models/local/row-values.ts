import * as tf from '../../tensorflow/tensorflow.ts'
import { checkSample } from './check-update.ts'
import { gatherRows, rowLogprobs, type ScoredSample } from './gradients.ts'
import { countTrained } from './loss.ts'
import { microBatches } from './micro-batches.ts'
import type { LocalModel } from './params.ts'

/** Returns values of the masked tokens under the present weights: arrays of length T, 0 if the mask is 0. */
export async function rowValues(
  model: LocalModel,
  samples: readonly ScoredSample[],
  what: 'logprob' | 'entropy',
  { budget, temperature }: { readonly budget: number; readonly temperature: number | undefined },
) {
  const results = samples.map((sample) => ({ sample, values: new Float32Array(sample.tokens.length) }))
  const wanted = results.filter(({ sample }) => countTrained(sample) > 0)
  for (const { sample } of wanted) checkSample(model, sample, Number.POSITIVE_INFINITY)
  for (const batch of microBatches(wanted, budget)) {
    const rows = gatherRows(batch.map((item) => item.sample))
    const out = tf.tidy(() => rowLogprobs(model, batch, rows, { temperature }))
    const values = await out.data()
    out.dispose()
    const first = what === 'logprob' ? 0 : rows.count
    rows.each((s, t, row) => {
      batch[s]!.values[t] = values[first + row]!
    })
  }
  return results.map(({ values }) => values)
}
