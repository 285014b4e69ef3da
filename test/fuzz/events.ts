/** Events and requests as they come on the subjects of a run. */
import { encode } from '@msgpack/msgpack'
import { CATALOGUE, type EventType } from '../../src/events/catalogue.ts'
import { checkEvent, checkWritten, decodeLogged } from '../../src/events/codec.ts'
import {
  appendRequest,
  blobGetRequest,
  blobPutRequest,
  hasRequest,
  parseRequest,
  REQUEST_BOUNDS,
  readRequest,
} from '../../src/events/log-protocol.ts'
import type { Rng } from '../../src/random.ts'
import { readFixtures, sampleOf } from '../events/samples.ts'
import { mutateBytes, mutateTree } from './mutate.ts'
import { MOST_BYTES, type Target } from './target.ts'

const RUN = 'fuzz'
const ID = '01900000-0000-7000-8000-000000000001'

function envelopes(): readonly Record<string, unknown>[] {
  return readFixtures().map((fixture) => {
    const { type, data } = sampleOf(fixture)
    return { id: ID, type, v: CATALOGUE[type].v, run: RUN, actor: 'head', time: 1, cause: null, data }
  })
}

/** Of each seed a changed tree, changed bytes, or both. */
function packedMutation(seeds: readonly unknown[], draw: Rng): Uint8Array {
  const [seed, other] = [draw.pick(seeds), draw.pick(seeds)]
  let tree = seed
  if (draw.uniform() < 0.7)
    for (let edits = 1 + draw.below(3); edits > 0; edits--) tree = mutateTree(tree, other, draw)
  let bytes: Uint8Array
  try {
    bytes = encode(tree, { maxDepth: 2_000 })
  } catch {
    bytes = encode(seed)
  }
  return draw.uniform() < 0.4 ? mutateBytes(bytes, encode(other), draw) : bytes
}

export const eventTarget: Target = {
  name: 'events',
  what: 'an event that somebody appends',
  async open() {
    const seeds = envelopes()
    return {
      make: (draw) => packedMutation(seeds, draw).subarray(0, MOST_BYTES),
      take(input) {
        const checked = checkWritten(checkEvent(input, RUN))
        const event = decodeLogged(checked.body, 1)
        if (event.type !== checked.envelope.type) return `it is read as ${event.type}`
        return wrongIn(event.type, event.data as Record<string, unknown>)
      },
    }
  },
}

/** What every reader of an event relies on, told apart from the schemas. */
function wrongIn(type: EventType, data: Record<string, unknown>): string | null {
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === 'number' && !Number.isFinite(value)) return `${type}.${name} is ${value}`
    if (name.endsWith('I32') && value instanceof Uint8Array && value.byteLength % 4 !== 0)
      return `${type}.${name} has ${value.byteLength} bytes`
  }
  if (type !== 'TrajectoryCompleted') return null
  const { steps, observations, actions } = data
  if (!Number.isSafeInteger(steps)) return `steps is ${steps}`
  if (Array.isArray(observations) && observations.length !== Number(steps) + 1)
    return `${observations.length} observations of ${steps} steps`
  return Array.isArray(actions) && actions.length !== steps
    ? `${actions.length} actions of ${steps} steps`
    : null
}

const REQUESTS = [
  {
    bounds: REQUEST_BOUNDS.append,
    schema: appendRequest,
    seed: [[encode(envelopes()[0])], [encode(envelopes()[1]), encode(envelopes()[2])]],
  },
  {
    bounds: REQUEST_BOUNDS.read,
    schema: readRequest,
    seed: { from: 1, until: 9, types: ['PolicyUpdated'], limit: 100, epoch: 1 },
  },
  { bounds: REQUEST_BOUNDS.has, schema: hasRequest, seed: { keys: ['PolicyUpdated/1', 'x'] } },
  {
    bounds: REQUEST_BOUNDS.get,
    schema: blobGetRequest,
    seed: { sha256: 'ab'.repeat(32), bytes: 10, offset: 0 },
  },
  {
    bounds: REQUEST_BOUNDS.put,
    schema: blobPutRequest,
    seed: { sha256: 'ab'.repeat(32), bytes: 10, offset: 0, chunk: new Uint8Array(10) },
  },
] as const

export const requestTarget: Target = {
  name: 'requests',
  what: 'a request to the log',
  async open() {
    const seeds = REQUESTS.map(({ seed }) => seed)
    return {
      make(draw) {
        const which = draw.below(REQUESTS.length)
        return Buffer.concat([Buffer.from([which]), packedMutation([seeds[which], draw.pick(seeds)], draw)])
      },
      take(input) {
        const { schema, bounds } = REQUESTS[input[0]]
        parseRequest(schema, input.subarray(1), bounds)
        return null
      },
    }
  },
}
