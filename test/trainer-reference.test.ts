/** The weights that the reference trainer opens: the base for `klReference: base` where the run's model is behind an endpoint, and a parent's. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { encodeBatch } from '../src/actors/learner/batch-file.ts'
import { runFolder } from '../src/broker/connection.ts'
import { parseConfig } from '../src/config.ts'
import type { EventData } from '../src/events/catalogue.ts'
import { connectLog } from '../src/events/log-client.ts'
import { weightsDigest } from '../src/models/local/checkpoint.ts'
import { openLocalModel } from '../src/models/local/model.ts'
import { readModelFolder } from '../src/models/local/model-folder.ts'
import { presetConfig } from '../src/models/local/presets.ts'
import { createTokenizer } from '../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../src/models/local/word-tokenizer.ts'
import { startTrainer } from '../src/trainer/trainer.ts'
import { errorOf } from './support/error-of.ts'
import { startTestHead, temporaryFolder, until } from './support/run.ts'

process.env.RL_RUNS ??= temporaryFolder()

test('the KL of a first update is 0 to the base, and not to what was sampled; a parent is that of the event', async () => {
  const folder = join(temporaryFolder(), 'base')
  const tokenizer = trainWordTokenizer({ words: ['go to the cabinet and open it'] })
  const { size: vocabSize, endToken } = createTokenizer(tokenizer)
  const model = await openLocalModel({
    ...{ config: presetConfig('nano', { vocabSize, contextTokens: 64, endToken }), tokenizer },
    ...{ seed: 5, backend: 'wasm' as const },
  })
  await model.save(folder)
  const tokens = Int32Array.from([1, 2, 3, 4, 5, 4])
  const mask = Uint8Array.from([0, 0, 1, 1, 1, 1])
  const [now] = await model.score([{ tokens, mask }])
  await model.close()
  // As if another version had sampled it.
  const logprobs = now.map((value, t) => (mask[t] ? value + 0.4 : 0))
  const sample = {
    id: 's/0#0',
    tokens,
    mask,
    logprobs,
    advantages: new Float32Array(6).fill(1),
    policyVersion: 0,
  }

  const kl = async (
    klReference: 'iteration' | 'base',
    baseFolder: string | null,
    parent: EventData<'BatchReady'>['parent'] = null,
  ) => {
    const head = await startTestHead()
    const log = connectLog({ bus: head.bus, run: 'test', actor: 'policy/trainer' })
    const config = parseConfig({
      policy: { training: { klReference, klLimit: null, updates: 1 } },
      backend: 'wasm',
    })
    const file = await log.putBlob(
      encodeBatch({ run: 'test', version: 1, parentVersion: 0, samples: [sample] }),
    )
    const data: EventData<'BatchReady'> = {
      ...{ iteration: 1, version: 1, parentVersion: 0, format: 'rl-batch/1', file, parent },
      ...{ samples: 1, tokens: 6, trainedTokens: 4, trainedOn: ['s/0'], metrics: {} },
      ...{ options: config.policy.training, seed: [1, 2], deadlineSeconds: 60 },
    }
    head.service.append([{ type: 'BatchReady', data }])
    const trainer = await startTrainer({ log, config, role: 'policy', baseFolder, report: () => {} })
    try {
      await Promise.race([trainer.done, until('version 1', () => head.log.byKey('PolicyUpdated/1') !== null)])
      return (head.log.byKey('PolicyUpdated/1')!.data as EventData<'PolicyUpdated'>).metrics.kl
    } finally {
      await trainer.stop()
      log.close()
      await head.close()
    }
  }
  assert.ok((await kl('iteration', folder)) > 0.05)
  assert.ok((await kl('base', folder)) < 1e-6)

  const path = 'checkpoints/policy/00000'
  const own = join(runFolder('test').folder, path)
  cpSync(folder, own, { recursive: true })
  const sha256 = await weightsDigest(await readModelFolder(own))
  assert.ok((await kl('iteration', null, { run: 'test', sha256, path })) > 0.05)
  const corrupt = await errorOf(kl('iteration', null, { run: 'test', sha256: '0'.repeat(64), path }))
  assert.is(corrupt.code, 'model.corrupt')
  assert.match(corrupt.message, /policy\/00000 are not those of policy version 0/)
})

test.run()
