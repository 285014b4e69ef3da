/**
 * asyncapi.yaml against its own parser, and against events as they are. The parser is 55 MB of packages, so it is no
 * dependency: npm install @asyncapi/parser somewhere, and name its folder (node_modules/@asyncapi/parser).
 */
import { createRequire } from 'node:module'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { asyncApiDoc } from '../../scripts/docs/asyncapi.ts'
import { CATALOGUE, type EventType } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { pack, unpackUntrusted } from '../../src/events/msgpack.ts'
import { upcast } from '../../src/events/upcasters.ts'
import { readFixtures } from '../events/samples.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'

const require = createRequire(import.meta.url)
const PARSER = process.env.RL_TEST_ASYNCAPI ?? '@asyncapi/parser'
/** Events of a type that are checked in each run. */
const MOST = 1_000

const parser = findParser()
/** The parser's modules for `import` do not load in Node. */
function findParser() {
  try {
    return require(PARSER)
  } catch {
    return null
  }
}

const skip = (what: string) =>
  console.log(`SKIP ${what}: @asyncapi/parser is not there (RL_TEST_ASYNCAPI names its module)`)

test('asyncapi.yaml is what its own parser takes for valid', async () => {
  if (parser === null) return skip('the parser')
  const { diagnostics } = await new parser.Parser().parse(asyncApiDoc().text)
  type Diagnostic = { readonly severity: number; readonly message: string; readonly path: readonly string[] }
  const errors = (diagnostics as readonly Diagnostic[]).filter(({ severity }) => severity < 2)
  assert.equal(
    errors.map(({ path, message }) => `${path.join('.')}: ${message}`),
    [],
  )
})

type Validate = { (value: unknown): boolean; readonly errors: readonly unknown[] | null }

/** Returns a validator of a type's messages, by the validator that the parser itself has. */
function validators(): (type: string) => Validate {
  const { default: Ajv } = createRequire(require.resolve(PARSER))('ajv')
  const ajv = new Ajv({ strict: false, formats: { binary: true, uuid: true } })
  ajv.addSchema(parse(asyncApiDoc().text), 'doc')
  return (type) => ajv.getSchema(`doc#/components/messages/${type}/payload`)
}

type Message = { readonly type: EventType; readonly v: number; readonly data: object }

/** Events of older versions are read as today's. */
function currentOf(event: Message): Message {
  const { type, v, data } = event
  if (v === CATALOGUE[type].v || '$blob' in data) return event
  return { ...event, v: CATALOGUE[type].v, data: upcast(type, v, data) as object }
}

function* bodiesOf(log: LogReader): Generator<Uint8Array> {
  for (let from = 1; ; ) {
    const { events, next } = log.page({ from, limit: 500 })
    yield* events.map(({ body }) => body)
    if (next > log.head().position) return
    from = next
  }
}

const told = ({ errors }: Validate) => JSON.stringify(errors?.slice(0, 3))

test('events of real runs are valid as they come from the bus, and wrong ones are not', () => {
  if (parser === null) return skip('events of real runs')
  const validatorOf = validators()
  const root = temporaryFolder()
  const counts = new Map<string, number>()
  for (const name of ['run', 'run-coding', 'run-web'] as const) {
    const log = openLogReader(unpackFixture(root, name).log)
    const seen = new Map<string, number>()
    for (const body of bodiesOf(log)) {
      const event = currentOf(unpackUntrusted(body) as Message)
      const { type, v } = event
      const before = seen.get(type) ?? 0
      if (before >= MOST) continue
      seen.set(type, before + 1)
      counts.set(type, (counts.get(type) ?? 0) + 1)
      const validate = validatorOf(type)
      assert.ok(validate(event), `${name}, ${type}: ${told(validate)}`)
      if (before > 0) continue
      assert.not.ok(validate({ ...event, data: { ...event.data, surprise: 1 } }), type)
      assert.not.ok(validate({ ...event, v: v + 1 }), type)
    }
    log.close()
  }
  console.log(`${[...counts.values()].reduce((sum, n) => sum + n, 0)} events of ${counts.size} types`)
  assert.ok(counts.size >= 20, [...counts.keys()].join())
})

test('one event of every type is valid, inline or in a blob', () => {
  if (parser === null) return skip('events of every type')
  const validatorOf = validators()
  const envelope = {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    run: 'test',
    actor: 'head',
    time: 1,
    cause: null,
  }
  const left = new Set(Object.keys(CATALOGUE))
  const inBlob = { $blob: { sha256: '0'.repeat(64), bytes: 300_000 } }
  for (const { type, v, data } of readFixtures()) {
    if (v !== CATALOGUE[type as EventType].v) continue
    left.delete(type)
    const validate = validatorOf(type)
    const event = unpackUntrusted(pack({ ...envelope, type, v, data })) as object
    assert.ok(validate(event), `${type}: ${told(validate)}`)
    assert.ok(validate({ ...event, data: inBlob }), `${type}: ${told(validate)}`)
    assert.not.ok(validate({ ...event, data: { $blob: { sha256: 'x', bytes: 1 } } }), type)
  }
  assert.equal([...left], [])
})

test.run()
