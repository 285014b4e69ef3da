import { lstatSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { adoptFolder, checkpointFolder } from '../../../src/actors/learner/checkpoints.ts'
import { writeModelFolder } from '../../../src/models/local/checkpoint.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { smallConfig, smallModel, tryBackend } from '../../models/local/fixtures.ts'
import { temporaryFolder } from '../../support/run.ts'

test('a version that is taken from a cache of links is whole without the cache', async () => {
  await tryBackend('wasm')
  const root = temporaryFolder()
  process.env.RL_RUNS = join(root, 'runs')
  const config = smallConfig('qwen2')
  const { model } = await smallModel(config, [1, 2])
  const weights = await Promise.all(
    [...model.params].map(async ([name, tensor]) => {
      return { name, shape: tensor.shape, values: (await tensor.data()) as Float32Array }
    }),
  )
  const [cache, snapshot] = [join(root, 'cache'), join(root, 'snapshot')]
  const written = await writeModelFolder(cache, { config, tokenizer: trainWordTokenizer({}), weights })
  mkdirSync(snapshot)
  for (const name of readdirSync(cache)) symlinkSync(join('..', 'cache', name), join(snapshot, name))
  const { path, sha256 } = await adoptFolder(snapshot, 'adopted', 'policy', 0)
  assert.is(sha256, written)
  const own = checkpointFolder('adopted', { path })
  assert.equal(readdirSync(own).sort(), readdirSync(cache).sort())
  for (const name of readdirSync(own)) assert.ok(lstatSync(join(own, name)).isFile(), name)
})

test.run()
