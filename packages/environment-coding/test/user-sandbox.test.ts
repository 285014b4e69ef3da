/** A way to run programs that is a user's: found by name, held to the same self-test, named in the log. */
import '../../../test/support/packages.ts'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../../src/config.ts'
import { loadAllUserParts } from '../../../src/user-parts.ts'
import { temporaryFolder } from '../../../test/support/run.ts'
import { chooseExecutor } from '../src/choose.ts'
import { DEFAULT_LIMITS } from '../src/provider.ts'
import { openProvider } from './sandboxes.ts'

const folder = temporaryFolder()
const provider = await openProvider('bwrap')
await provider?.close()

function moduleWith(name: string, source: string): string {
  const file = join(folder, name)
  writeFileSync(file, source)
  return file
}

const BWRAP = resolve('packages/environment-coding/src/providers/bwrap.ts')
const mine = moduleWith(
  'mine.ts',
  `import { createBwrapProvider } from '${BWRAP}'
export const sandboxProviders = [
  { name: 'mine', version: 2, open: async ({ concurrency }) => ({ ...(await createBwrapProvider({ concurrency })), name: 'mine' }) },
]`,
)

const codingConfig = (sandbox: object) =>
  parseConfig({ environment: { name: 'coding', coding: { sandbox } }, rewardModel: { judging: 'group' } })

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was taken')
}

test('it runs programs and is named with version and digest', async () => {
  if (!provider) return
  const { executor, name } = await chooseExecutor({ provider: 'mine', module: mine })
  try {
    assert.is(name, 'mine')
    const run = { program: 'print(input())', stdins: ['hello\n'], limits: DEFAULT_LIMITS }
    for await (const { stdout } of executor.run([run])) assert.is(stdout, 'hello\n')
  } finally {
    await executor.close()
  }
  const parts = await loadAllUserParts(codingConfig({ provider: 'mine', module: mine }))
  assert.equal(
    parts.map(({ kind, name, version }) => ({ kind, name, version })),
    [{ kind: 'sandboxProvider', name: 'mine', version: 2 }],
  )
  assert.match(parts[0].digest, /^[0-9a-f]{64}$/)
})

test('one that does not isolate, or is not whole, is refused by name', async () => {
  const leaky = moduleWith(
    'leaky.mjs',
    `export const sandboxProviders = [{ name: 'leaky', version: 1, open: () => ({
      name: 'leaky', detail: '', semantics: '', concurrency: 1, close: async () => {},
      run: async (_, report) => report(0, { verdict: 'ok', stdout: '42\\n', stderrTail: '', cpuMs: 1, wallMs: 1, peakKB: 1 }),
    }) }]`,
  )
  assert.match(
    await refusal(() => chooseExecutor({ provider: 'leaky', module: leaky })),
    /leaky does not pass its self-test: an endless loop was not ended/,
  )
  const half = moduleWith(
    'half.mjs',
    `export const sandboxProviders = [{ name: 'half', version: 1, open: () => ({ run() {} }) }]`,
  )
  assert.match(
    await refusal(() => chooseExecutor({ provider: 'half', module: half })),
    /half\.mjs: sandboxProviders: 'half': open\(\) gave no function `close`/,
  )
})

test('a name that there is not is refused with its key, and so is one that does not isolate', async () => {
  for (const name of ['bwarp', 'process'])
    assert.match(
      await refusal(() => codingConfig({ provider: name })),
      new RegExp(
        `environment\\.coding\\.sandbox\\.provider: there is no sandbox provider '${name}' for a config`,
      ),
    )
  assert.match(
    await refusal(() => loadAllUserParts(codingConfig({ provider: 'mien', module: mine }))),
    /environment\.coding\.sandbox\.provider: there is no sandbox provider 'mien'/,
  )
})

test.run()
