/** What is chosen on machines that are not this one, from their facts. */
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { natsServerRelease } from '../../src/broker/fetch.ts'
import { usesGpu } from '../../src/models/local/backend/backend.ts'
import { libraryFolders, systemBlas } from '../../src/platform/blas.ts'
import { findGpu, gpuAdvice } from '../../src/platform/gpu.ts'
import type { Machine } from '../../src/platform/machine.ts'
import { spawnGuarded } from '../../src/platform/processes.ts'
import { installHint, programFile, programFolders } from '../../src/platform/programs.ts'
import { makePublicFolder } from '../../src/platform/public-folder.ts'
import { isAlive } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

function machine(platform: string, arch: string, files: readonly string[] = [], env = {}): Machine {
  return { platform, arch, env, exists: (path) => files.includes(path) }
}

const DEBIAN = machine('linux', 'x64', ['/usr/bin/apt-get'], { PATH: '/usr/bin:/bin' })
const ALPINE = machine('linux', 'arm64', ['/sbin/apk'], { PATH: '/usr/bin:/bin' })
const BARE = machine('linux', 'riscv64')
const MAC = machine('darwin', 'arm64', [], { PATH: '/usr/bin:/bin' })
const WINDOWS = machine('win32', 'x64', [], { Path: 'C:\\Windows;C:\\Program Files\\nodejs' })

for (const [name, { platform, arch }, suffix, program] of [
  ['Linux x64', DEBIAN, 'linux-amd64.tar.gz', 'nats-server'],
  ['Linux arm64, glibc or musl', ALPINE, 'linux-arm64.tar.gz', 'nats-server'],
  ['macOS arm64', MAC, 'darwin-arm64.tar.gz', 'nats-server'],
  ['macOS x64', machine('darwin', 'x64'), 'darwin-amd64.tar.gz', 'nats-server'],
  ['Windows x64', WINDOWS, 'windows-amd64.zip', 'nats-server.exe'],
] as const)
  test(`nats-server for ${name} is pinned`, () => {
    const release = natsServerRelease(machine(platform, arch))
    assert.ok(release?.url.endsWith(suffix), release?.url)
    assert.match(release?.sha256 ?? '', /^[0-9a-f]{64}$/)
    assert.is(release?.program.split('/').at(-1), program)
  })

test('elsewhere no nats-server is pinned, and the hint names what serves there', () => {
  assert.is(natsServerRelease(BARE), null)
  assert.is(natsServerRelease(machine('win32', 'arm64')), null)
  assert.is(installHint('nats-server', DEBIAN), 'run: sudo apt-get install -y nats-server')
  assert.is(installHint('nats-server', ALPINE), 'run: apk add nats-server')
  assert.is(installHint('nats-server', MAC), 'run: brew install nats-server')
  assert.is(installHint('nats-server', WINDOWS), 'run: scoop install nats-server')
  assert.match(installHint('nats-server', BARE), /github\.com\/nats-io/)
  assert.is(installHint('bubblewrap', ALPINE), 'run: apk add bubblewrap')
  assert.is(installHint('bubblewrap', MAC), 'there is no bubblewrap for darwin')
  assert.is(installHint('openblas', WINDOWS), 'there is no openblas for win32')
})

test('programs are looked for where a platform keeps them', () => {
  assert.equal(programFolders(DEBIAN).slice(0, 3), ['/usr/bin', '/bin', '/usr/sbin'])
  assert.ok(programFolders(MAC).includes('/opt/homebrew/bin'))
  assert.equal(programFolders(WINDOWS), ['C:\\Windows', 'C:\\Program Files\\nodejs'])
  assert.is(programFile('nats-server', WINDOWS), 'nats-server.exe')
  assert.is(programFile('nats-server', MAC), 'nats-server')
})

test('the native BLAS is OpenBLAS on Linux, Accelerate on macOS and none on Windows', () => {
  assert.equal(systemBlas(DEBIAN), ['libopenblas.so.0', 'libopenblas.so.3', 'libopenblas.so'])
  assert.match(systemBlas(MAC)[0], /Accelerate/)
  assert.equal(systemBlas(WINDOWS), [])
  assert.is(libraryFolders(ALPINE)[0], '/usr/lib/aarch64-linux-gnu')
  assert.equal(libraryFolders(WINDOWS), [])
})

test('a folder of the cache is for all to read, under the umask of a run too', () => {
  const root = temporaryFolder()
  const before = process.umask(0o077)
  try {
    makePublicFolder(join(root, 'cache', 'bin'))
  } finally {
    process.umask(before)
  }
  for (const path of ['cache', 'cache/bin']) assert.is(statSync(join(root, path)).mode & 0o777, 0o755)
})

test('a graphics processor is found by its driver, one drawn in software is none', () => {
  const list = (names: Readonly<Record<string, readonly string[]>>) => (folder: string) => names[folder] ?? []
  const icd = '/usr/share/vulkan/icd.d'
  const nvidia = machine('linux', 'x64', ['/dev/nvidia0'])
  assert.equal(findGpu(nvidia, list({})), { nvidia: true, webgpu: false })
  assert.equal(findGpu(nvidia, list({ [icd]: ['nvidia_icd.json'] })), { nvidia: true, webgpu: true })
  const amd = list({ [icd]: ['radeon_icd.x86_64.json', 'lvp_icd.x86_64.json'], '/dev/dri': ['renderD128'] })
  assert.equal(findGpu(DEBIAN, amd), { nvidia: false, webgpu: true })
  const software = list({ [icd]: ['lvp_icd.x86_64.json'], '/dev/dri': ['renderD128'] })
  assert.equal(findGpu(DEBIAN, software), { nvidia: false, webgpu: false })
  assert.equal(findGpu(MAC, list({})), { nvidia: false, webgpu: true })
  assert.equal(findGpu(WINDOWS, list({})), { nvidia: false, webgpu: true })
})

test('what would use it is named with the versions of package.json, webgpu first', () => {
  const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const both = { nvidia: true, webgpu: true }
  assert.is(gpuAdvice({ nvidia: false, webgpu: false }, 'wasm'), null)
  assert.is(gpuAdvice(both, 'webgpu'), null)
  assert.is(gpuAdvice(both, 'tensorflow-gpu'), null)
  assert.match(
    gpuAdvice(both, 'wasm-blas', DEBIAN) ?? '',
    `--no-save --save-peer webgpu@${peerDependencies.webgpu}`,
  )
  const driverless = { nvidia: true, webgpu: false }
  const packed = `@tensorflow/tfjs-node-gpu@${peerDependencies['@tensorflow/tfjs-node-gpu']}`
  assert.match(gpuAdvice(driverless, 'wasm', DEBIAN) ?? '', packed)
  assert.not.match(gpuAdvice(driverless, 'wasm', ALPINE) ?? '', packed)
})

test('a package that is installed and finds no adapter is not advised again', () => {
  const gpu = { nvidia: true, webgpu: true }
  const missing = "Cannot find package 'webgpu'"
  assert.match(gpuAdvice(gpu, 'wasm-blas', DEBIAN, missing) ?? '', 'npm install')
  const refusal = 'WebGPU finds no adapter - a Vulkan driver is needed'
  const advice = gpuAdvice(gpu, 'wasm-blas', DEBIAN, refusal) ?? ''
  assert.not.match(advice, 'npm install')
  assert.match(advice, 'vulkaninfo --summary')
  const elsewhere = gpuAdvice({ nvidia: false, webgpu: true }, 'wasm', MAC, refusal) ?? ''
  assert.not.match(elsewhere, /npm install|vulkaninfo/)
  assert.match(elsewhere, 'webgpu cannot use it')
})

test('tfjs-node-gpu counts only where it computes on a GPU', () => {
  assert.is(usesGpu({ isUsingGpuDevice: true }), true)
  assert.is(usesGpu({ isUsingGpuDevice: false }), false)
  assert.is(usesGpu({}), false)
})

for (const guarded of [DEBIAN, WINDOWS])
  test(`a guarded program ends with the pipe of its parent (${guarded.platform})`, async () => {
    if (process.platform === 'win32') {
      process.stdout.write('SKIP guards: the program is a shell\n')
      return
    }
    const file = join(temporaryFolder(), 'pid')
    const guard = spawnGuarded(
      'sh',
      ['-c', `echo $$ > '${file}.part'; mv '${file}.part' '${file}'; exec sleep 60`],
      guarded,
    )
    await until('started', () => existsSync(file))
    const pid = Number(readFileSync(file, 'utf8'))
    assert.ok(isAlive(pid))
    guard.stdin?.end()
    await once(guard, 'exit')
    await until('the program to be gone', () => !isAlive(pid))
    const status = once(spawnGuarded('sh', ['-c', 'exit 7'], guarded), 'exit')
    assert.is((await status)[0], 7)
  })

test.run()
