/**
 * Builds the native binding of tfjs-node against a libtensorflow that is installed, for Linux: its own install would fetch
 * both ready made. docs/platforms.md says where to have the library from.
 *
 *   npm install --no-save --ignore-scripts @tensorflow/tfjs-node@4.22.0
 *   node bin/launch.mjs scripts/build-tfjs-node.ts FOLDER [NODE_HEADERS]
 *
 * FOLDER holds include/tensorflow/c and the libraries, itself or in lib/: the unpacked C library or a Python wheel's
 * `tensorflow`. It has to stay there. NODE_HEADERS holds node_api.h; without it, those beside the Node that runs this.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { PACKAGE_ROOT } from '../src/package.ts'

const [folder, headers = join(dirname(realpathSync(process.execPath)), '../include/node')] =
  process.argv.slice(2)
if (!folder) fail('usage: build-tfjs-node.ts FOLDER [NODE_HEADERS]')
const tfjs = join(PACKAGE_ROOT, 'node_modules/@tensorflow/tfjs-node')
for (const file of [
  join(tfjs, 'binding/tfjs_binding.cc'),
  join(headers, 'node_api.h'),
  join(folder, 'include/tensorflow/c/c_api.h'),
])
  if (!existsSync(file)) fail(`${file} is not there`)

const libraries = [join(folder, 'lib'), folder]
  .filter((place) => existsSync(place))
  .flatMap((place) => readdirSync(place).map((name) => resolve(place, name)))
// A wheel calls the library _cc, and has no links without a version.
const find = (pattern: RegExp) =>
  libraries.find((path) => pattern.test(path)) ?? fail(`${folder} holds no ${pattern}`)
const linked = [find(/\/libtensorflow(_cc)?\.so(\.\d+)?$/), find(/\/libtensorflow_framework\.so(\.\d+)?$/)]

// The newest Node-API that its package.json names; a newer Node takes the same.
const target = join(tfjs, 'lib/napi-v8')
mkdirSync(target, { recursive: true })
const { status, error } = spawnSync(
  process.env.CXX ?? 'g++',
  [
    ...['-O2', '-std=c++17', '-fPIC', '-shared', '-DNAPI_VERSION=8'],
    ...[headers, join(folder, 'include'), dirname(tfjs)].map((path) => `-I${path}`),
    ...['-o', join(target, 'tfjs_binding.node')],
    ...['backend', 'binding'].map((name) => join(tfjs, `binding/tfjs_${name}.cc`)),
    ...linked,
    `-Wl,-rpath,${dirname(linked[0])}`,
  ],
  { stdio: 'inherit' },
)
if (error || status !== 0) fail(`the compiler ended with ${error?.message ?? status}`)

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
