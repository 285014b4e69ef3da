/** `rl init --agent`: what it writes is trained as it is. */
import { readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { byteTokenizer } from '../support/byte-tokenizer.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const project = join(root, 'my-agent')

async function rl(...words: readonly string[]): Promise<string> {
  const { status, output } = startProcess(['src/rl.ts', ...words], { RL_RUNS: root })
  assert.is(await status, 0, output())
  return output()
}

test('the new project has an agent, ten tasks, a grade and a short README, and its command trains it', async () => {
  assert.match(await rl('init', '--agent', project), /next: cd .*my-agent && npm install && npm run train/)
  const text = (name: string) => readFileSync(join(project, name), 'utf8')
  assert.is(text('tasks.jsonl').trim().split('\n').length, 10)
  assert.is(text('README.md').trim().split('\n').length, 9)
  const { name, dependencies, scripts } = JSON.parse(text('package.json'))
  assert.equal([name, dependencies.openai], ['my-agent', '6.49.0'])
  // As `npm install` would make it.
  symlinkSync(resolve('node_modules'), join(project, 'node_modules'), 'dir')
  const files = byteTokenizer()
  const { size: vocabSize, endToken } = createTokenizer(files)
  const config = presetConfig('nano', { vocabSize, contextTokens: 512, endToken })
  const model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  await model.save(join(project, 'model'))
  await model.close()
  const words = (scripts.train as string)
    .replace('HuggingFaceTB/SmolLM2-135M-Instruct', 'model')
    .split(' ')
    .slice(1)
    .map((word) => (/^(\.\/|tasks|model$)/.test(word) ? join(project, word) : word))
  const few = ['environment.tasksPerIteration=1', 'environment.rolloutsPerTask=4', 'backend=wasm']
  const output = await rl(
    ...[...words, '--iterations', '1', '--run', 'mine'],
    ...few.flatMap((setting) => ['--set', setting]),
  )
  assert.match(output, /agent .*agent\.ts: 8 tasks to train on, 2 held-out/)
  assert.is(eventsBelow(root)('mine', ['RolloutFailed']).length, 0)
  assert.match(output, /held-out 0\.\d\d -> 0\.\d\d.* over 2 tasks/)
})

test.run()
