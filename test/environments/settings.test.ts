/** Settings of packages: one that is broken is told with its package, and hides no other. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Setting } from '../../src/environments/setting.ts'
import {
  loadInstalled,
  loadSetting,
  registerPackages,
  registerSetting,
} from '../../src/environments/settings.ts'
import { userSetting } from '../../src/environments/user-setting.ts'
import type { RlError } from '../../src/errors.ts'
import { temporaryFolder } from '../support/run.ts'

const open = () => ({ tasks: async () => [], reset: async () => Promise.reject(new Error('none')) })
const LOADS: Readonly<Record<string, () => Promise<Readonly<Record<string, unknown>>>>> = {
  throws: async () => Promise.reject(new SyntaxError('an odd word')),
  rejects: async () => Promise.reject(null),
  empty: async () => ({}),
  closed: async () => ({ setting: { name: 'closed', summary: '' } }),
  renamed: async () => ({ setting: { name: 'other', summary: '', open } }),
  whole: async () => ({ setting: { name: 'whole', summary: 'nothing to do', open } }),
}
registerPackages(
  Object.entries(LOADS).map(([name, load]) => ({
    ...{ name, package: `environment-${name}`, load },
    place: () => import.meta.url,
  })),
)

test('a broken package is told by name, and all others are loaded', async () => {
  const broken: RlError[] = []
  const settings = await loadInstalled((error) => broken.push(error))
  assert.ok(settings.some(({ name }) => name === 'whole'))
  assert.equal(
    broken.map(({ code, message }) => [code, message.replace(/^the package (\S+) .* is broken: /, '$1 ')]),
    [
      ['setting.broken', 'environment-throws an odd word'],
      ['setting.broken', 'environment-rejects null'],
      ['setting.broken', 'environment-empty setting: Invalid input: expected object, received undefined'],
      ['setting.broken', 'environment-closed setting.open: expected a function'],
      ['setting.broken', "environment-renamed setting.name: it is 'other'"],
    ],
  )
})

test('a run that needs a broken package is refused with package and cause', async () => {
  const error: RlError = await loadSetting({ name: 'throws', module: null }).then(
    () => assert.unreachable(),
    (error) => error,
  )
  assert.is(error.code, 'setting.broken')
  assert.match(error.message, /environment-throws of the setting 'throws' is broken: an odd word/)
})

test('a name that is none, or that a key of the section has, is refused', () => {
  const refusal = (name: unknown) => {
    try {
      registerSetting({ name, summary: '', open } as unknown as Setting)
    } catch (error) {
      assert.is((error as RlError).code, 'setting.broken')
      return (error as RlError).message
    }
    return null
  }
  assert.match(refusal('My Game') ?? '', /'My Game' .*expected small letters, digits and -/)
  assert.match(refusal(undefined) ?? '', /'undefined' .*expected string/)
  for (const key of ['seed', 'tasks', 'expert']) {
    assert.match(refusal(key) ?? '', new RegExp(`'${key}' .*: environment\\.${key} is a key already`))
    assert.throws(() => userSetting({ name: key, summary: '', open }, 'mine.ts'), /setting\.name: .* already/)
  }
  assert.is(refusal('my-game'), null)
})

test('rl --help and rl doctor name a broken package and go on', async () => {
  const folder = temporaryFolder()
  const program = join(folder, 'rl.mjs')
  const addressOf = (file: string) => JSON.stringify(pathToFileURL(resolve(file)).href)
  writeFileSync(
    program,
    `import { registerPackages } from ${addressOf('src/environments/settings.ts')}
const load = () => Promise.reject(new Error('not\\ntoday'))
registerPackages([{ name: 'bad', package: 'environment-bad', load, place: () => import.meta.url }])
await import(${addressOf('src/rl.ts')})
`,
  )
  const rl = (word: string) =>
    new Promise<{ readonly status: number; readonly output: string }>((done) => {
      execFile(process.execPath, [program, word], { cwd: folder }, (error, stdout) =>
        done({ status: error ? Number(error.code) : 0, output: stdout }),
      )
    })
  const help = await rl('--help')
  assert.is(help.status, 0)
  assert.match(help.output, /^ {2}the package environment-bad of the setting 'bad' is broken: not today$/m)
  assert.match(help.output, /rl <command> --help tells more\.\n$/)
  const doctor = await rl('doctor')
  assert.is(doctor.status, 1)
  assert.match(doctor.output, /^fail {2}setting +the package environment-bad .* is broken: not today/m)
  assert.match(doctor.output, /^\S+ +disk /m)
})

test.run()
