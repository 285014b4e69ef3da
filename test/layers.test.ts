/** Imports point down: what a folder may know is written here, and nothing else is imported. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

/** A folder, or one file of it: a port (types alone), or the loss that trainers compute. Everybody may know clock.ts, errors.ts, package.ts, platform, random.ts and user-module.ts, which know nothing of the rest. */
const COMMON = ['clock', 'errors', 'package', 'platform', 'random', 'user-module']
const MAY_KNOW: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  package: [],
  random: [],
  platform: [],
  events: [],
  tensorflow: [],
  learning: ['models/port', 'environments/port', 'tensorflow'],
  models: ['learning/loss', 'tensorflow'],
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

test('outside of environments and config nothing asks what a setting is called', () => {
  const naming = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.ts') &&
      !['environments', 'config'].includes(layerOf(file)) &&
      /environment\.name|'alfworld'|'coding'/.test(readFileSync(join('src', file), 'utf8')),
  )
  assert.equal(naming, [])
})

test('NATS is spoken by one folder', () => {
  const speakers = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && /from '@nats-io\//.test(readFileSync(join('src', file), 'utf8')),
  )
  assert.equal(
    speakers.filter((file) => dirname(file) !== join('events', 'nats')),
    [],
  )
})

test.run()
