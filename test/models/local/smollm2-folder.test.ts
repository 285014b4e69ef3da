/** SmolLM2-135M-Instruct as a Hugging Face folder, made of its GGUF file: here as from the file, and in transformers as here. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { exportFolder } from '../../../src/models/local/export-folder.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { lacks } from '../../support/python.ts'
import { temporaryFolder } from '../../support/run.ts'
import { ask } from '../../support/transformers.ts'

const file = new URL('../../../../shared/data/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url)
  .pathname
const TOKENS = 12
/** Not among those that lie beside the file. */
const PROMPTS = [
  'Two plus two is',
  'Die Hauptstadt von Frankreich heißt',
  'def fibonacci(n):\n    """The n-th number,  from 0."""\n',
]

/** What it says greedily: ids of the prompts, and of the answers with their log-probs. */
async function said(place: string) {
  const model = await openLocalModel({ folder: place })
  const generations = await model.generate(
    PROMPTS.map((text) => ({ prompt: { text }, maxTokens: TOKENS, temperature: 0, seed: [0, 0] })),
  )
  await model.close()
  return generations.map(({ promptTokens, tokens, logprobs }) => ({
    ...{ prompt: [...promptTokens!], tokens: [...tokens!], logprobs: [...logprobs!] },
  }))
}

test('the exported folder says what the file says, and transformers the same of it', async () => {
  if (!existsSync(file)) {
    process.stdout.write('SKIP: the released model is not here (../shared/data/smollm2)\n')
    return
  }
  const folder = join(temporaryFolder(), 'smollm2')
  await exportFolder(file, folder, 'F32')
  const ours = await said(folder)
  assert.equal(ours, await said(file))
  const missing = lacks('transformers', 'torch')
  if (missing) {
    process.stdout.write(`SKIP transformers: ${missing}\n`)
    return
  }
  const theirs = ask<{ ids: number[][]; scored: number[][] }>({
    ids: { tokenize: folder, texts: PROMPTS },
    scored: { logprobs: folder, ids: ours.map(({ prompt, tokens }) => [...prompt, ...tokens]) },
    ...Object.fromEntries(
      ours.map(({ prompt }, i) => [`greedy ${i}`, { greedy: folder, ids: prompt, count: TOKENS }]),
    ),
  }) as Record<string, unknown> & { ids: number[][]; scored: number[][] }
  for (const [i, { prompt, tokens, logprobs }] of ours.entries()) {
    assert.equal(prompt, theirs.ids[i])
    assert.equal(tokens, theirs[`greedy ${i}`])
    for (const [t, value] of theirs.scored[i].slice(-TOKENS).entries())
      assert.ok(Math.abs(logprobs[t] - value) < 1e-4, `${logprobs[t]}, ${value} there`)
  }
})

test.run()
