/** What is simulated takes time, chance and names from its ports alone: else the same seed would not make the same world. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

/** Where the simulation enters the code of the project. */
const ENTRIES = [
  'src/actors/configs.ts',
  'src/actors/deciders.ts',
  'src/actors/head/serve-run.ts',
  'src/actors/last-attempt.ts',
  'src/actors/runtime/actor.ts',
  'src/actors/simulated/workers.ts',
  'src/events/log.ts',
  'src/events/subscription.ts',
]

/** Not part of it: the ports themselves, what speaks to a real broker, and what a simulated run never calls. */
const OUTSIDE: Readonly<Record<string, string>> = {
  'src/clock.ts': 'the port',
  'src/platform/': 'the port, and files',
  'src/events/nats/': 'the simulation has a transport of its own',
  'src/broker/': 'as well',
  'src/events/blobs.ts': 'random names of part files',
  'src/config': 'reading a config',
  'src/environments/': 'the simulated learner plays no episodes',
  'src/user-module.ts': 'no module of a user is loaded',
}

const FORBIDDEN =
  /\b(Math\.random|Date\.now|new Date\(\)|setTimeout|setInterval|setImmediate|performance\.now|randomUUID|randomBytes|uuidv7|process\.pid|process\.nextTick|hostname\(\))/

function importsOf(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(/^(?:import|export) (?!type )[^']*?from '(\.[^']+)'/gm)].map(([, path]) =>
    join(dirname(file), path),
  )
}

test('the modules that are simulated have no clock, chance or name of their own', () => {
  const seen = new Set<string>()
  const follow = (file: string) => {
    if (seen.has(file) || Object.keys(OUTSIDE).some((prefix) => file.startsWith(prefix))) return
    seen.add(file)
    for (const path of importsOf(file)) follow(path)
  }
  for (const entry of ENTRIES) follow(entry)
  const wrong = [...seen].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const word = /^\s*(\*|\/\/|\/\*)/.test(line) ? undefined : FORBIDDEN.exec(line)?.[1]
        return word ? [`${file}:${index + 1} ${word}`] : []
      }),
  )
  assert.ok(seen.size > 40)
  assert.equal(wrong, [])
})

test.run()
