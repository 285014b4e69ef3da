/** What an install brings: nothing to compile, licences that are allowed, nothing extraneous or unknown. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { licencesOf } from '../../scripts/licences.ts'
import { buildBom } from '../../scripts/sbom.ts'
import { gpuAdvice } from '../../src/platform/gpu.ts'
import { temporaryFolder } from '../support/run.ts'

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const lock = read('package-lock.json')
/** `npm run -s` above would make npm say nothing. */
const env = { ...process.env, npm_config_loglevel: 'notice' }
const npm = (words: readonly string[], cwd = '.') =>
  spawnSync('npm', words, {
    cwd,
    env,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    timeout: 240_000,
  })
const OFFLINE = /audit endpoint|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/

test('npm compiles nothing: prebuilt modules are here for every platform', () => {
  // npm forgets what the package itself says (gypfile: false) when it installs from a lockfile without these words, and then
  // needs Python. An npm that writes the lockfile anew drops the first of them: put it back.
  assert.is(lock.packages['node_modules/better-sqlite3'].gypfile, false, 'package-lock.json')
  assert.is(read('package.json').allowScripts['better-sqlite3'], false)
  for (const platform of ['linux', 'linuxmusl', 'darwin', 'win32'])
    for (const arch of ['x64', 'arm64'])
      assert.ok(
        existsSync(`node_modules/better-sqlite3/prebuilds/${platform}-${arch}.node`),
        `${platform}-${arch}`,
      )
  for (const name of ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'])
    assert.ok(lock.packages[`node_modules/@koromix/koffi-${name}`], name)
})

test('everything that an install brings is imported', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(`src/${name}`, 'utf8'))
    .join('\n')
  const { dependencies, optionalDependencies } = read('package.json')
  const unused = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
    (name) => !name.startsWith('@types/') && !sources.includes(`'${name}`),
  )
  assert.equal(unused, [])
})

test('npm ls finds nothing missing or invalid', () => {
  const { problems = [] } = JSON.parse(npm(['ls', '--all', '--json']).stdout) as {
    problems?: readonly string[]
  }
  // What somebody added with --no-save (webgpu, a compiler for the kernels) is no fault of an install.
  assert.equal(
    problems.filter((problem) => !problem.startsWith('extraneous:')),
    [],
  )
})

test('npm audit knows of no weakness', () => {
  const { status, stdout, stderr } = npm(['audit', '--omit=dev'])
  if (status === null || OFFLINE.test(stderr)) {
    process.stdout.write('SKIP npm audit: the registry in use does not answer it\n')
    return
  }
  assert.is(status, 0, stdout)
})

test('the command that is advised for a graphics processor installs its package, an optional peer', () => {
  const folder = temporaryFolder()
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(name, join(folder, name))
  const advice = gpuAdvice({ nvidia: false, webgpu: true }, 'wasm') ?? ''
  const words = advice.slice(advice.indexOf('npm install ')).split(' ').slice(1)
  const { status, stdout, stderr } = npm([...words, '--dry-run'], folder)
  if (status === null || OFFLINE.test(stderr)) {
    process.stdout.write('SKIP npm install: the registry in use does not answer it\n')
    return
  }
  assert.match(stdout, `add webgpu ${read('package.json').peerDependencies.webgpu}`, stderr)
})

test('every package has a licence that is allowed, and another is found', () => {
  assert.equal(
    licencesOf(lock).filter(({ allowed }) => !allowed),
    [],
  )
  const packages = (licence?: string) => ({
    packages: { '': {}, 'node_modules/x': { version: '1', license: licence } },
  })
  for (const [licence, allowed] of [
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['MIT AND GPL-3.0-only', false],
    ['SEE LICENSE IN FILE', false],
    [undefined, false],
  ] as const)
    assert.is(licencesOf(packages(licence))[0].allowed, allowed, licence)
})

test('the bill of materials names every package of an install, with its digest', () => {
  const { components, metadata } = buildBom()
  assert.is(metadata.component.name, 'rlanything')
  const listed = new Map(components.map((one) => [`${one.name}@${one.version}`, one]))
  for (const name of Object.keys(read('package.json').dependencies)) {
    const one = listed.get(`${name}@${lock.packages[`node_modules/${name}`].version}`)
    assert.is(one?.hashes?.length, 1, name)
  }
  assert.not(listed.has(`typescript@${lock.packages['node_modules/typescript'].version}`))
})

test.run()
