/** The launcher as people meet it: an old Node starts a script of this project, in a folder of its own with a cold cache. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isRecent } from '../../bin/node.mjs'
import { OLD_NODE } from '../support/old-node.ts'
import { temporaryFolder } from '../support/run.ts'

/** Prints its Node, a child's and its arguments; ends as it is told, or on a signal. */
const SCRIPT = `
import { execFileSync } from 'node:child_process'
const [end, ...words]: readonly string[] = process.argv.slice(2)
const child = execFileSync('node', ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
if (end === 'wait') {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      console.log('got ' + signal)
      process.exit(signal === 'SIGINT' ? 130 : 143)
    })
  setTimeout(() => process.exit(9), 60_000)
}
console.log([process.versions.node, child, ...words].join(' '))
if (end === 'killed') process.kill(process.pid, 'SIGKILL')
else if (end !== 'wait') process.exitCode = Number(end)
`

function freshFolder(): string {
  const root = join(temporaryFolder(), 'ein Ordner für ☃')
  cpSync('bin', join(root, 'bin'), { recursive: true })
  writeFileSync(join(root, 'package.json'), '{"type":"module"}')
  writeFileSync(join(root, 'script.ts'), SCRIPT)
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
  return root
}

type Ended = { readonly status: number | null; readonly out: string; readonly errors: string }

function start(node: string, root: string, words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(node, [join(root, 'bin', 'launch.mjs'), 'script.ts', ...words], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: `/usr/bin${delimiter}/bin`, ...env },
  })
  let out = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  const ended = once(child, 'close').then(([status]): Ended => ({ status, out, errors }))
  return { child: child as ChildProcess, ended, firstLine: once(child.stdout, 'data') }
}

for (const [version, recent] of [
  ['20.20.2', false],
  ['22.13.1', false],
  ['22.14.0', true],
  ['24.0.0', true],
  ['26.9.0', true],
] as const)
  test(`Node ${version} is ${recent ? 'recent' : 'too old'}`, () => assert.is(isRecent(version), recent))

/** What is in the cache but compiled modules. */
function fetched(root: string): string[] {
  const cache = join(root, '.cache')
  return existsSync(cache) ? readdirSync(cache).filter((name) => name !== 'compiled') : []
}

test('a recent Node gets nothing and passes on arguments and status', async () => {
  const root = freshFolder()
  const { status, out, errors } = await start(process.execPath, root, ['3', 'a b', '--c=☃']).ended
  assert.is(status, 3, errors)
  assert.match(out, `${process.versions.node} `)
  assert.match(out, / a b --c=☃\n$/)
  assert.is(errors, '')
  assert.equal(fetched(root), [])
})

test('an installed package keeps what it gets where npm ci does not remove it', () => {
  const root = temporaryFolder()
  const installed = join(root, 'node_modules', 'rlanything')
  cpSync('bin', join(installed, 'bin'), { recursive: true })
  writeFileSync(join(installed, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(installed, 'bin', 'rl.mjs'),
    "import { launch } from './launch.mjs'\nawait launch('bin/node.mjs', [])\n",
  )
  const env = { ...process.env, XDG_CACHE_HOME: root, NODE_COMPILE_CACHE: undefined }
  execFileSync(process.execPath, [join(installed, 'bin', 'rl.mjs')], { env })
  assert.equal(readdirSync(join(root, 'rlanything')), ['compiled'])
  assert.not(existsSync(join(installed, '.cache')))
})

test('options of an outer npm do not reach the npm that gets a Node, but its registry does', () => {
  const root = freshFolder()
  const npm = `#!/bin/sh\nenv | grep -i '^npm_config_' | sort > '${root}/env'\nexit 1\n`
  writeFileSync(join(root, 'npm'), npm, { mode: 0o755 })
  writeFileSync(
    join(root, 'get.mjs'),
    "import { getNode } from './bin/node.mjs'\ngetNode(['node-none@1.0.0', 'sha512-'])\n",
  )
  const own = Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name))
  const { status } = spawnSync(process.execPath, [join(root, 'get.mjs')], {
    env: {
      ...Object.fromEntries(own),
      PATH: `${root}${delimiter}${process.env.PATH}`,
      npm_config_pack_destination: '/elsewhere',
      NPM_CONFIG_JSON: 'true',
      npm_config_dry_run: 'true',
      npm_config_workspace: 'packages/a',
      npm_config_registry: 'http://127.0.0.1:9',
    },
  })
  assert.is(status, 1)
  assert.is(readFileSync(join(root, 'env'), 'utf8'), 'npm_config_registry=http://127.0.0.1:9\n')
})

const OLD = OLD_NODE
if (!OLD) {
  process.stdout.write('SKIP an old Node starts a newer one: no Node older than 22.14 is in /usr/bin\n')
} else {
  const root = freshFolder()

  test('without a network an old Node says what is missing, and leaves nothing behind', async () => {
    const env = { npm_config_registry: 'http://127.0.0.1:9', npm_config_userconfig: '/dev/null' }
    const { status, out, errors } = await start(OLD, root, ['0'], env).ended
    assert.is(status, 1)
    assert.is(out, '')
    assert.match(errors, /could not be got: .*127\.0\.0\.1:9.*Node 22\.14 or newer is needed/s)
    assert.equal(readdirSync(join(root, '.cache')), [])
  })

  test('a cache that cannot be written is named', async () => {
    rmSync(join(root, '.cache'), { recursive: true })
    writeFileSync(join(root, '.cache'), '')
    const { status, errors } = await start(OLD, root, ['0']).ended
    rmSync(join(root, '.cache'))
    assert.is(status, 1)
    assert.match(errors, /could not be got: E.*\.cache/)
  })

  test('two starts at once on a cold cache get it, later ones have it; children have it too', async () => {
    const both = await Promise.all(['4', '5'].map((word) => start(OLD, root, [word, word]).ended))
    if (both.some(({ errors }) => /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(errors))) {
      process.stdout.write('SKIP getting a Node: the registry cannot be reached\n')
      return
    }
    assert.equal(
      both.map(({ status }) => status),
      [4, 5],
      both.map(({ errors }) => errors).join(''),
    )
    for (const { errors, out } of both) {
      assert.match(errors, /^Node \S+ is too old: getting \S+ into \.cache, once\n$/)
      assert.match(out, /^(\S+) \1 [45]\n$/)
      assert.ok(isRecent(out.split(' ')[0]))
    }
    assert.is(fetched(root).length, 1)
    const again = await start(OLD, root, ['6', 'x']).ended
    assert.equal([again.status, again.errors], [6, ''])
  })

  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    test(`${signal} reaches the script, and its status comes back`, async () => {
      if (!existsSync(join(root, '.cache'))) return
      const { child, ended, firstLine } = start(OLD, root, ['wait'])
      await firstLine
      child.kill(signal)
      const end = await ended
      assert.is(end.status, status, end.errors)
      assert.is(end.out.match(new RegExp(`got ${signal}`, 'g'))?.length, 1)
    })

  test('a script that a signal ended has the status of a shell', async () => {
    if (!existsSync(join(root, '.cache'))) return
    assert.is((await start(OLD, root, ['killed']).ended).status, 137)
  })
}

test.run()
