/** Imports point down: what a folder may know is written here, and nothing else is imported. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

/** A folder, or one file of it: a port (types alone), or the loss that trainers compute. Everybody may know clock.ts, command-line.ts, errors.ts, exact-json.ts, is-record.ts, limit.ts, nearest.ts, package.ts, platform, random.ts, registry.ts, secrets.ts, tagged.ts, text-file.ts, user-code.ts and user-module.ts, which know nothing of the rest. */
const COMMON = [
  'clock',
  'command-line',
  'errors',
  'exact-json',
  'is-record',
  'limit',
  'nearest',
  'package',
  'platform',
  'random',
  'registry',
  'secrets',
  'tagged',
  'text-file',
  'user-code',
  'user-module',
]
const MAY_KNOW: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  'command-line': [],
  package: [],
  random: [],
  platform: [],
  events: [],
  tensorflow: [],
  learning: ['models/port', 'environments/port'],
  'openai-api': [],
  models: ['openai-api', 'tensorflow'],
  environments: ['models/port', 'config'],
  projections: ['events', 'learning'],
  broker: ['events'],
}

function imports(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path]) =>
    relative('src', join(dirname(file), path)),
  )
}

function layerOf(path: string): string {
  return path.split('/')[0].replace(/\.ts$/, '')
}

function isKnown(path: string, known: readonly string[]): boolean {
  return known.includes(layerOf(path)) || known.includes(path.replace(/\.ts$/, ''))
}

for (const [layer, known] of Object.entries(MAY_KNOW))
  test(`${layer} knows ${[...known, ...COMMON].join(', ')} and itself alone`, () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && layerOf(file) === layer,
    )
    const wrong = files.flatMap((file) =>
      imports(join('src', file))
        .filter((path) => !isKnown(path, [layer, ...known, ...COMMON]))
        .map((path) => `${file} imports ${path}`),
    )
    assert.equal(wrong, [])
  })

const ALL = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const ROLES = new Set(['head', 'policy', 'reward-model', 'environment', 'adapter'])

/** What a file of src imports, types included, as paths from src. */
const IMPORTS = new Map(ALL.map((file) => [file, imports(join('src', file))]))

test('no file imports itself by way of others, not even for a type', () => {
  const done = new Set<string>()
  const circles: string[] = []
  const follow = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' -> '))
    if (done.has(file) || way.includes(file)) return
    for (const path of IMPORTS.get(file) ?? []) follow(path, [...way, file])
    done.add(file)
  }
  for (const file of ALL) follow(file, [])
  assert.equal(circles, [])
})

test('what deciders are made of does no I/O: it knows events, rules and the config, and of packages xstate', () => {
  const known = ['config', 'random', 'learning', 'events/catalogue', 'events/envelope', 'environments/port']
  const folder = join('actors', 'decider')
  const wrong = ALL.filter((file) => dirname(file) === folder).flatMap((file) => [
    ...(IMPORTS.get(file) ?? []).filter((path) => dirname(path) !== folder && !isKnown(path, known)),
    ...packagesOf(file).filter((name) => name !== 'xstate'),
  ])
  assert.equal(wrong, [])
})

test('of packages and modules of Node a machine imports xstate alone', () => {
  const wrong = ALL.filter((file) => /^actors\/[\w-]+\/machine\.ts$/.test(file)).flatMap((file) =>
    packagesOf(file).filter((name) => name !== 'xstate'),
  )
  assert.equal(wrong, [])
})

test('a role imports no other role', () => {
  const roleOf = (path: string) => /^actors\/([\w-]+)\//.exec(path)?.[1] ?? ''
  const wrong = ALL.filter((file) => ROLES.has(roleOf(file))).flatMap((file) =>
    (IMPORTS.get(file) ?? [])
      .filter((path) => ROLES.has(roleOf(path)) && roleOf(path) !== roleOf(file))
      .map((path) => `${file} imports ${path}`),
  )
  assert.equal(wrong, [])
})

test('outside of environments and config nothing asks what a setting is called', () => {
  const naming = ALL.filter(
    (file) =>
      !['environments', 'config'].includes(layerOf(file)) &&
      /environment\.name|'alfworld'|'coding'/.test(readFileSync(join('src', file), 'utf8')),
  )
  assert.equal(naming, [])
})

test('outside of environments nothing imports a file of one setting', () => {
  const wrong = ALL.filter((file) => layerOf(file) !== 'environments').flatMap((file) =>
    (IMPORTS.get(file) ?? [])
      .filter((path) => /^environments\/[^/]+\//.test(path))
      .map((path) => `${file} imports ${path}`),
  )
  assert.equal(wrong, [])
})

/** Packages and modules of Node that a file imports by name. */
function packagesOf(file: string): string[] {
  const source = readFileSync(join('src', file), 'utf8')
  return [...source.matchAll(/(?:from |import\()'([^.'\n][^'\n]*)'/g)].map(([, name]) => name)
}

/** The client library, subjects and headers of JetStream, and the words by which it is told what became of a delivery. */
const NATS_WORDS = /from '@nats-io\/|\$JS\.|\$KV\.|\bNats-[A-Z]|'\+(?:ACK|WPI)'|-NAK\b/

test('NATS is spoken by one folder', () => {
  const speakers = ALL.filter((file) => NATS_WORDS.test(readFileSync(join('src', file), 'utf8')))
  assert.equal(
    speakers.filter((file) => dirname(file) !== join('events', 'nats')),
    [],
  )
})

test.run()
