/** `rl fork --set` of runs whose setting is a package: each key is checked as at a start. */
import { existsSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const original = unpackFixture(root)
copyRun(original, runFolder('pages', root), {
  change(event) {
    if (event.type !== 'RunStarted') return event
    const { environment, ...config } = structuredClone(event.data.config) as Record<string, object>
    const { minGroupSize = 2 } = environment as { minGroupSize?: number }
    return {
      ...event,
      data: { ...event.data, config: { ...config, environment: { name: 'web', minGroupSize } } },
    }
  },
})

async function fork(...words: readonly string[]): Promise<{ status: number | null; output: string }> {
  const one = startProcess(['src/rl.ts', 'fork', 'pages', '--at', '20', '--as', 'child', ...words], {
    RL_RUNS: root,
  })
  return { status: await one.status, output: one.output() }
}

const WRONG = {
  'a key that the package does not have': [
    'environment.web.page=3',
    /unknown key.*'environment\.web\.pages'/,
  ],
  'a value of another type': ['environment.web.pages=-1', /environment\.web\.pages/],
  'a key that nobody has': ['environment.bogus=1', /unknown key 'environment\.bogus'/],
  'a key of a setting that it changes to': ['environment.name=coding', /environment|setting/],
} as const

for (const [name, [set, message]] of Object.entries(WRONG))
  test(`a fork refuses ${name}`, async () => {
    const { status, output } = await fork(
      '--set',
      set,
      ...(set.includes('coding') ? ['--set', 'environment.coding.bogus=1'] : []),
    )
    assert.is(status, 1, output)
    assert.match(output, message)
    assert.not.ok(existsSync(runFolder('child', root).log), 'no fork is made')
  })

test('a fork takes keys that are right', async () => {
  const { status, output } = await fork('--set', 'run.iterations=9')
  assert.is(status, 0, output)
})

test.run()
