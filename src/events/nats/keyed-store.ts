/** Keyed stores, implemented as JetStream streams that keep one message a subject. */
import { randomUUID } from 'node:crypto'
import { RlError } from '../../errors.ts'
import type { Bus } from '../bus.ts'
import type { KeyedStore, KeyedStoreOptions } from '../keyed-store.ts'
import { createSubject, EXPECTED_LAST_HEADER, getSubject } from './api.ts'
import { JETSTREAM_HINT } from './errors.ts'

const ANSWER_MS = 2_000
/** The stream exists with other settings, e.g. more replicas. */
const NAME_IN_USE = 10058
const NO_MESSAGE = 404

type Failure = { readonly code: number; readonly err_code: number; readonly description: string }
type Created = { readonly error?: Failure }
type Got = {
  readonly message?: { readonly seq: number; readonly data?: string }
  readonly error?: Failure
}

export function natsStore(
  bus: Pick<Bus, 'request' | 'publishWork' | 'publish' | 'connected'>,
  replicas: number,
  options: KeyedStoreOptions,
): KeyedStore {
  const { stream, subjectOf, settings } = layoutOf(options, replicas)

  async function ask<T>(subject: string, request: object): Promise<T> {
    const body = Buffer.from(JSON.stringify(request))
    const answer = await bus.request(subject, body, { timeoutMs: ANSWER_MS })
    return JSON.parse(Buffer.from(answer).toString()) as T
  }

  function failed(what: string, error: Failure | undefined): RlError {
    return new RlError(`${stream} cannot be ${what}: ${error?.description}`, {
      code: 'bus.no-jetstream',
      hint: JETSTREAM_HINT,
    })
  }

  return {
    async ensure() {
      const { error } = await ask<Created>(createSubject(stream), settings)
      if (error && error.err_code !== NAME_IN_USE) throw failed('made', error)
    },
    async get(key) {
      const { message, error } = await ask<Got>(getSubject(stream), { last_by_subj: subjectOf(key) })
      if (message) return { value: Buffer.from(message.data ?? '', 'base64'), revision: message.seq }
      if (error?.code === NO_MESSAGE) return null
      throw failed('read', error)
    },
    async update(key, value, revision) {
      const headers = { [EXPECTED_LAST_HEADER]: String(revision) }
      await bus.publishWork(subjectOf(key), value, randomUUID(), headers)
    },
    put(key, value) {
      if (bus.connected()) bus.publish(subjectOf(key), value)
    },
  }
}

/** The settings of an existing stream are not changed: there are file stores of earlier versions. */
function layoutOf({ name, subjectOf, maxBytes }: KeyedStoreOptions, replicas: number) {
  const stream = subjectOf ? name : `KV_${name}`
  const common = {
    name: stream,
    storage: 'file',
    retention: 'limits',
    discard: maxBytes === undefined ? 'new' : 'old',
    max_msgs_per_subject: 1,
    max_msgs: -1,
    max_bytes: maxBytes ?? -1,
    max_age: 0,
    num_replicas: replicas,
    // Roles must not use it (src/broker/permissions.ts).
    allow_direct: true,
  }
  if (subjectOf) return { stream, subjectOf, settings: { ...common, subjects: [subjectOf('*')] } }
  return {
    stream,
    subjectOf: (key: string) => `$KV.${name}.${key}`,
    settings: { ...common, subjects: [`$KV.${name}.>`], allow_rollup_hdrs: true, deny_delete: true },
  }
}
