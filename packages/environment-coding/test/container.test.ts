import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chooseExecutor } from '../src/choose.ts'
import { createExecutor, runAll } from '../src/executor.ts'
import { DEFAULT_LIMITS } from '../src/provider.ts'
import { createContainerProvider, ociConfig } from '../src/providers/container.ts'
import { findProgram } from '../src/providers/find-program.ts'

const LIMITS = { ...DEFAULT_LIMITS, cpuMs: 1000, memoryMB: 64 }

/** A stand-in for the engine: writes down its words, and runs what the container would, in a folder of its own. */
function standIn(folder: string): void {
  const script = `#!${process.execPath}
const { appendFileSync } = require('node:fs')
const { spawnSync } = require('node:child_process')
const words = process.argv.slice(2)
appendFileSync(${JSON.stringify(join(folder, 'asked'))}, JSON.stringify(words) + '\\n')
if (words[0] !== 'run') process.exit(0)
const boot = words.at(-1).replaceAll('/tmp/main.py', ${JSON.stringify(join(folder, 'main.py'))})
const { status } = spawnSync('/usr/bin/python3', ['-c', boot], { stdio: 'inherit', env: {} })
process.exit(status ?? 137)
`
  writeFileSync(join(folder, 'podman'), script)
  chmodSync(join(folder, 'podman'), 0o755)
}

test('the words of a container, and what its ends mean', async () => {
  if (!findProgram('python3', ['/usr/bin'])) {
    process.stdout.write('SKIP containers: there is no /usr/bin/python3\n')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'rl-container-test-'))
  standIn(folder)
  const path = process.env.PATH
  process.env.PATH = `${folder}:${path}`
  const provider = await createContainerProvider({ engine: 'podman', image: 'an/image:1', concurrency: 1 })
  process.env.PATH = path
  const executor = createExecutor({ provider })
  const programs = ['print(input())', 'print(', '1 / 0', 'exit(137)', "print('x' * 2000000)", 'exit(125)']
  const results = await runAll(
    executor,
    programs.map((program) => ({ program, stdins: ['in\n'], limits: LIMITS })),
  )
  assert.equal(
    results.map(([{ verdict }]) => verdict),
    ['ok', 'compile_error', 'runtime_error', 'memory', 'output_limit', 'runtime_error'],
  )
  assert.is(results[0][0].stdout, 'in\n')
  const [words] = readFileSync(join(folder, 'asked'), 'utf8')
    .split('\n')
    .map((line) => JSON.parse(line || 'null') as string[])
  const has = (...expected: string[]) =>
    assert.ok(words.join(' ').includes(expected.join(' ')), `${expected} is not in ${words}`)
  has('run', '--rm', '--interactive', '--name')
  has('--network', 'none')
  has('--read-only')
  has('--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--user', '65534:65534')
  has('--memory', '64m', '--memory-swap', '64m')
  has('--pull', 'never')
  has('an/image:1', '-s', '-B', '-c')
  await executor.close()
  const asked = readFileSync(join(folder, 'asked'), 'utf8')
  assert.match(
    asked,
    '["rm","--force","rl-program-',
    'what was stopped is removed before the provider is closed',
  )
  rmSync(folder, { recursive: true })
})

test('the bundle for gVisor shows the interpreter and nothing else', () => {
  const interpreter = {
    path: '/usr/bin/python3',
    version: 'CPython 3',
    files: ['/usr/bin/python3', '/usr/lib/python3'],
    libraryFolders: [],
  }
  const config = ociConfig(interpreter, LIMITS) as { mounts: { destination: string; options?: string[] }[] }
  assert.equal(
    config.mounts.map(({ destination }) => destination),
    ['/usr/bin/python3', '/usr/lib/python3', '/tmp', '/proc'],
  )
  assert.ok(config.mounts.slice(0, 2).every(({ options }) => options?.includes('ro')))
})

test('an engine that is missing or does not run is refused with a reason', async () => {
  for (const provider of ['podman', 'docker', 'gvisor'] as const)
    try {
      const { executor } = await chooseExecutor({ provider })
      await executor.close()
      process.stdout.write(`${provider} works here\n`)
    } catch (error) {
      assert.match(String(error), new RegExp(`${provider}|runsc`))
    }
})

test.run()
