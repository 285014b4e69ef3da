/** Imports point down: what a folder may know is written here, and nothing else is imported. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { CIRCLES, COMMON, MAY_KNOW } from './layers-table.ts'

function imports(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(/(?:from|import\(|^import)\s*'(\.[^']+)'/gm)].map(([, path]) =>
    relative('src', join(dirname(file), path)),
  )
}

function layerOf(path: string): string {
  return path.split('/')[0].replace(/\.ts$/, '')
}

function isKnown(path: string, known: readonly string[]): boolean {
  return known.includes(layerOf(path)) || known.includes(path.replace(/\.ts$/, ''))
}

const ALL = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.d.ts'),
)
const ROLES = new Set(['head', 'policy', 'reward-model', 'environment', 'adapter'])

/** What a file of src imports, types included, as paths from src. */
const IMPORTS = new Map(ALL.map((file) => [file, imports(join('src', file))]))

test('every folder and every file of src has a line that says what it may know', () => {
  assert.equal([...new Set(ALL.map(layerOf))].sort(), Object.keys(MAY_KNOW).sort())
})

for (const [layer, known] of Object.entries(MAY_KNOW))
  test(`${layer} knows ${[...known, 'what is common'].join(', ')} and itself alone`, () => {
    const files = ALL.filter((file) => layerOf(file) === layer)
    const found = files.flatMap((file) =>
      (IMPORTS.get(file) ?? []).filter((path) => layerOf(path) !== layer).map((path) => ({ file, path })),
    )
    const wrong = found.filter(({ path }) => !isKnown(path, [...known, ...COMMON]))
    assert.equal(
      wrong.map(({ file, path }) => `${file} imports ${path}`),
      [],
    )
    const idle = known.filter((name) => !found.some(({ path }) => isKnown(path, [name])))
    assert.equal(idle, [], 'nothing needs to know this any more')
  })

test('ports know what is common alone', () => {
  const ports = [...new Set(Object.values(MAY_KNOW).flat())].filter((name) => name.endsWith('/port'))
  const wrong = ports.flatMap((port) =>
    (IMPORTS.get(`${port}.ts`) ?? []).filter((path) => !isKnown(path, COMMON)),
  )
  assert.equal(wrong, [])
})

test('no folder knows itself by way of others, but for circles with a reason', () => {
  const graph = new Map<string, Set<string>>()
  for (const [file, paths] of IMPORTS)
    for (const path of paths) {
      const [from, to] = [layerOf(file), layerOf(path)]
      // Who knows a port knows no more of its folder.
      if (from === to || path.endsWith('/port.ts')) continue
      graph.set(from, (graph.get(from) ?? new Set()).add(to))
    }
  const reach = (from: string): Set<string> => {
    const reached = new Set<string>()
    const follow = (name: string): void => {
      for (const next of graph.get(name) ?? [])
        if (!reached.has(next)) {
          reached.add(next)
          follow(next)
        }
    }
    follow(from)
    return reached
  }
  const reached = new Map([...graph.keys()].map((name) => [name, reach(name)]))
  const circles = [...graph.keys()]
    .filter((name) => reached.get(name)?.has(name))
    .map((name) =>
      [...graph.keys()].filter((other) => reached.get(name)?.has(other) && reached.get(other)?.has(name)),
    )
  assert.equal([...new Set(circles.map((circle) => circle.sort().join(', ')))], Object.keys(CIRCLES))
})

test('the gateway and the server of local models share src/openai-api and know nothing of one another', () => {
  const server = (path: string) => /^models\/local\/server(\.ts$|\/)/.test(path)
  const wrong = ALL.flatMap((file) =>
    (IMPORTS.get(file) ?? [])
      .filter((path) =>
        layerOf(file) === 'gateway' ? server(path) : server(file) && layerOf(path) === 'gateway',
      )
      .map((path) => `${file} imports ${path}`),
  )
  assert.equal(wrong, [])
})

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
  const known = [
    'config',
    'config-schema',
    'random',
    'learning',
    'events/catalogue',
    'events/envelope',
    'environments/port',
  ]
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

const PACKAGES = readdirSync('packages')
/** The one file that names packages. */
const LIST = 'setting-packages.ts'

test('outside of environments and config nothing asks what a setting is called', () => {
  const naming = ALL.filter(
    (file) =>
      !['environments', 'config', 'config-schema'].includes(layerOf(file)) &&
      file !== LIST &&
      /environment\.name|'alfworld'|'coding'/.test(readFileSync(join('src', file), 'utf8')),
  )
  assert.equal(naming, [])
})

test('a package imports public entries alone, of packages that its package.json names', () => {
  const wrong = PACKAGES.flatMap((name) => {
    const root = join('packages', name)
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, object>
    const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.(ts|mjs|cjs)$/.test(file),
    )
    return files.flatMap((file) => {
      const source = readFileSync(join(root, 'src', file), 'utf8')
      return [...source.matchAll(/(?:^(?:import|export) .*?|^\} )from '([^'\n]+)'|import\('([^'\n]+)'\)/gm)]
        .map(([, one, other]) => one ?? other)
        .filter((path) =>
          path.startsWith('.')
            ? relative(join(root, 'src'), join(root, 'src', dirname(file), path)).startsWith('..')
            : !path.startsWith('node:') && !named.some((one) => path === one || path.startsWith(`${one}/`)),
        )
        .map((path) => `${name}/src/${file} imports ${path}`)
    })
  })
  assert.equal(wrong, [])
})

test('one list alone points from the root to packages', () => {
  const pointing = ALL.filter((file) =>
    /@rlanything\/|\.\.\/packages\//.test(readFileSync(join('src', file), 'utf8')),
  )
  assert.equal(pointing, [LIST])
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
