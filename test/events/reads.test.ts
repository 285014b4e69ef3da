/** Reads of some types give what a look at every event gives, however close together these lie, and through a fork. */
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { CATALOGUE, type EventType, type LoggedEvent, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { type EventLog, forkLog, openLog } from '../../src/events/log.ts'
import type { LogReader } from '../../src/events/log-reader.ts'
import { temporaryFolder } from '../support/run.ts'
import { policyUpdated } from '../support/toy.ts'

const TYPES: readonly EventType[] = ['PolicyUpdated', 'RunPaused', 'RunResumed', 'RunFailed']

function eventOf(type: EventType, n: number): NewEvent {
  return type === 'PolicyUpdated' ? policyUpdated(n) : ({ type, data: { reason: String(n) } } as NewEvent)
}

function write(log: EventLog, types: readonly EventType[], from: number): void {
  const bodies = types.map((type, index) => {
    const id = `00000000-0000-7000-8000-${String(from + index).padStart(12, '0')}`
    const { data } = eventOf(type, from + index)
    return encodeEnvelope({
      id,
      type,
      v: CATALOGUE[type].v,
      run: log.run,
      actor: 'test',
      time: 1,
      cause: null,
      data,
    })
  })
  if (bodies.length > 0) log.append(bodies.map((body) => log.check(body)))
}

/** Stretches of one type each: some types come now and then, some by the hundred. */
const stretches = fc.array(
  fc.tuple(fc.constantFrom(...TYPES), fc.oneof(fc.nat({ max: 3 }), fc.integer({ min: 60, max: 400 }))),
  { maxLength: 8 },
)
const wanted = fc.record({
  types: fc.array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 6 }),
  from: fc.integer({ min: 1, max: 800 }),
  until: fc.integer({ min: 1, max: 1_600 }),
  limit: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant(1_000)),
})

function positionsOf(events: Iterable<{ readonly position: number }>): number[] {
  return [...events].map(({ position }) => position)
}

/** As readers do, page by page. */
function pages(
  log: LogReader,
  { from, ...rest }: Parameters<LogReader['page']>[0] & { from: number },
): number[] {
  const found: number[] = []
  for (let next = from; ; ) {
    const page = log.page({ from: next, ...rest })
    found.push(...positionsOf(page.events))
    assert.ok(page.events.length <= (rest.limit ?? 1_000))
    if (page.next === next || page.next > (rest.until ?? Infinity)) return found
    assert.ok(page.next > next)
    next = page.next
  }
}

test('of some types the same events are read as by looking at all', () => {
  fc.assert(
    fc.property(
      stretches,
      stretches,
      fc.array(wanted, { minLength: 1, maxLength: 6 }),
      (first, second, asked) => {
        const root = temporaryFolder()
        const parentPath = join(root, 'a', 'events.db')
        const parent = openLog(parentPath, { run: 'a', minFreeBytes: 0, synchronous: 'NORMAL' })
        const flat = (parts: typeof first) =>
          parts.flatMap(([type, count]) => Array<EventType>(count).fill(type))
        write(parent, ['RunPaused', ...flat(first)], 1)
        const position = Math.ceil(parent.head().position / 2)
        parent.close()
        const path = join(root, 'b', 'events.db')
        forkLog(path, { run: 'b', parent: parentPath, position })
        const log = openLog(path, { run: 'b', minFreeBytes: 0, synchronous: 'NORMAL' })
        write(log, flat(second), 10_000)
        const all: readonly LoggedEvent[] = [...log.events()]
        assert.equal(
          positionsOf(all),
          Array.from({ length: log.head().position }, (_, index) => index + 1),
        )
        for (const { types, from, until, limit } of asked) {
          const naive = all.filter(
            (event) => event.position >= from && event.position <= until && types.includes(event.type),
          )
          assert.equal([...log.events({ types, from, until })], naive)
          assert.equal(pages(log, { types, from, until, limit }), positionsOf(naive))
          assert.equal(pages(log, { types, from, until, limit, maxBytes: 2_000 }), positionsOf(naive))
          const upTo = all.filter((event) => event.position <= until && types.includes(event.type))
          assert.is(log.newest(types, until)?.position, upTo.at(-1)?.position)
          for (const type of types)
            assert.is(log.countOf(type, until), upTo.filter((event) => event.type === type).length)
        }
        log.close()
      },
    ),
    { numRuns: 40 },
  )
})

test('a page of types that lie close together looks through so many rows and no more', () => {
  const log = openLog(join(temporaryFolder(), 'events.db'), {
    run: 'a',
    minFreeBytes: 0,
    synchronous: 'NORMAL',
  })
  write(log, Array<EventType>(200).fill('RunPaused'), 1)
  write(log, Array<EventType>(20_000).fill('RunResumed'), 1_000)
  const page = log.page({ types: ['RunPaused'], from: 1 })
  assert.is(page.events.length, 200)
  assert.ok(page.next < 17_000, `${page.next}`)
  assert.is(log.page({ types: ['RunPaused'], from: page.next }).next, 20_201)
  log.close()
})

test('a range whose ends are no numbers holds nothing', () => {
  const log = openLog(join(temporaryFolder(), 'events.db'), {
    run: 'a',
    minFreeBytes: 0,
    synchronous: 'NORMAL',
  })
  write(log, ['RunPaused'], 1)
  for (const range of [
    { from: Number.NaN, until: Number.NaN },
    { from: Number.NaN },
    { until: Number.NaN },
    { from: Number.NaN, types: ['RunPaused'] as const },
  ])
    assert.equal([...log.events(range)], [])
  log.close()
})

test.run()
