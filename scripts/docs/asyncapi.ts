/**
 * asyncapi.yaml: all messages over NATS, for tools in other languages. It comes from the catalogue and the
 * messages' checks.
 */
import { stringify } from 'yaml'
import { controlAnswer, controlRequest } from '../../src/actors/head/control.ts'
import { HEARTBEAT } from '../../src/actors/head/watch.ts'
import { sharedJob } from '../../src/actors/runtime/deliveries.ts'
import { CATALOGUE, type EventType } from '../../src/events/catalogue.ts'
import { blobDataSchema, INLINE_DATA_LIMIT } from '../../src/events/codec.ts'
import { ROLES } from '../../src/events/envelope.ts'
import { faultReport } from '../../src/events/faults.ts'
import { headSays } from '../../src/events/head-says.ts'
import {
  dataSchema,
  envelopeJsonSchema,
  type JsonSchema,
  toJsonSchema,
} from '../../src/events/json-schema.ts'
import {
  appendRequest,
  blobGetRequest,
  blobPutRequest,
  hasRequest,
  readRequest,
} from '../../src/events/log-protocol.ts'
import { EPOCH_HEADER, POSITION_HEADER } from '../../src/events/subjects.ts'
import { AUTHORS } from '../../src/events/users.ts'
import type { GeneratedDoc } from './generated.ts'

const position = { type: 'integer', minimum: 1 }
const text = { type: 'string' }
const binary = { format: 'binary' }
const nothing = { type: 'object', maxProperties: 0 }
const listOf = (items: JsonSchema) => ({ type: 'array', items })
const either = (...oneOf: JsonSchema[]) => ({ oneOf })
const record = (properties: Readonly<Record<string, JsonSchema>>, ...optional: string[]) => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})
const refusal = record({ code: text, message: text, hint: text }, 'hint')

type Exchange = {
  readonly address: string
  readonly summary: string
  readonly request: JsonSchema
  readonly reply: JsonSchema
}

/** Requests and their replies. A refused request is answered with the header `Rl-Error` and a refusal. */
const EXCHANGES: Readonly<Record<string, Exchange>> = {
  append: {
    address: 'log.append.{user}',
    summary: 'Appends groups of encoded events, each group all or nothing. Answers when they are durable.',
    request: toJsonSchema(appendRequest),
    reply: listOf(either(listOf({ type: 'array', items: [position, { enum: [0, 1] }] }), refusal)),
  },
  read: {
    address: 'log.read',
    summary: 'Reads encoded events with their positions. Go on from `next` until it is above `head`.',
    request: toJsonSchema(readRequest),
    reply: record({
      events: listOf({ type: 'array', items: [position, binary] }),
      next: position,
      hash: text,
      head: { type: 'integer' },
    }),
  },
  has: {
    address: 'log.has',
    summary: 'Positions of the events with these natural keys, or null.',
    request: toJsonSchema(hasRequest),
    reply: listOf({ type: ['integer', 'null'] }),
  },
  head: {
    address: 'log.head',
    summary: 'Position and hash at the end of the log.',
    request: nothing,
    reply: record({
      position: { type: 'integer' },
      hash: text,
      deadLetters: { type: 'integer' },
      pausedSince: { type: ['number', 'null'] },
    }),
  },
  getBlob: {
    address: 'blob.get',
    summary: 'Reads bytes of a blob from an offset.',
    request: toJsonSchema(blobGetRequest),
    reply: record({ chunk: binary }),
  },
  putBlob: {
    address: 'blob.put.{user}',
    summary: 'Puts a blob, chunk after chunk. The last chunk seals it.',
    request: toJsonSchema(blobPutRequest),
    reply: record({ sealed: { type: 'boolean' } }),
  },
  actors: {
    address: 'call.actors',
    summary: 'Who lives, what each waits for, and what is open.',
    request: nothing,
    reply: record({ actors: listOf({ type: 'object' }) }),
  },
  control: {
    address: 'call.head.control',
    summary: 'Pauses or resumes the run for a person. Only the user `operator` may ask.',
    request: toJsonSchema(controlRequest),
    reply: toJsonSchema(controlAnswer),
  },
  status: {
    address: 'call.status.{role}',
    summary: 'What each process of a role does. All of them answer.',
    request: nothing,
    reply: { $ref: '#/components/schemas/Heartbeat' },
  },
  act: {
    address: 'call.policy.act',
    summary:
      'Actions for a batch of episodes, one answer for each. One of the policy workers answers (queue group `policy.act`).',
    request: listOf(
      record({
        rollout: text,
        task: text,
        kind: text,
        goal: text,
        observations: listOf(text),
        actions: listOf(text),
        admissible: listOf(text),
        packedTokens: { type: 'integer' },
        policyVersion: { type: 'integer' },
        seed: listOf({ type: 'integer' }),
        evaluation: { type: 'boolean' },
      }),
    ),
    reply: listOf(
      record(
        {
          action: text,
          invalid: { type: ['string', 'null'] },
          fits: { type: 'boolean' },
          fault: text,
          continues: { type: 'boolean' },
          tokens: { type: ['object', 'null'] },
          promptSha256: text,
          usage: { type: 'object' },
        },
        'fault',
        'promptSha256',
      ),
    ),
  },
}

type Stream = {
  readonly address: string
  readonly summary: string
  readonly payload: JsonSchema
  /** Whether the head hears it, or says it. */
  readonly action: 'send' | 'receive'
}

const STREAMS: Readonly<Record<string, Stream>> = {
  work: {
    address: 'work.{role}',
    summary:
      "Work queue (JetStream stream `rl-<run>-work-<role>`, consumer `workers`): jobs that a role's decider shares among its workers.",
    payload: toJsonSchema(sharedJob),
    action: 'receive',
  },
  tapHead: {
    address: 'tap.head',
    summary: 'Lossy: the end of the log, twice a second.',
    payload: toJsonSchema(headSays),
    action: 'send',
  },
  tapHeartbeat: {
    address: 'tap.heartbeat.{user}',
    summary: "Lossy: that a process of the user's role lives, and what it does.",
    payload: { $ref: '#/components/schemas/Heartbeat' },
    action: 'receive',
  },
  tapFault: {
    address: 'tap.fault.{user}',
    summary: 'Lossy: a message that a process of the user could not take, for the dead letters.',
    payload: toJsonSchema(faultReport),
    action: 'receive',
  },
}

const PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  run: { description: 'Run id: 1 to 32 small letters, digits and dashes.' },
  user: { description: 'User of the broker. Nobody else may publish there.', enum: [...AUTHORS] },
  role: { enum: [...ROLES] },
}

/** How a program shows who it is. One of them is enough. */
const SECURITY: Readonly<Record<string, JsonSchema>> = {
  user: {
    type: 'userPassword',
    description:
      'Each role, a tool and an operator has a password: runs/<run>/connection.json, runs/<run>/credentials. Rights: src/broker/permissions.ts.',
  },
  token: { type: 'apiKey', in: 'password', description: 'Token of a broker that a person started.' },
  nkey: {
    type: 'asymmetricEncryption',
    description: 'Key (nkey) of a host, in the file with which it joins: docs/hosts.md.',
  },
}

/** Stands in the place of data that are too large for a message. */
const BLOB: JsonSchema = {
  description: `Data of more than ${INLINE_DATA_LIMIT} encoded bytes. The blob holds them as msgpack: ask blob.get for it.`,
  ...toJsonSchema(blobDataSchema),
}

export function asyncApiDoc(): GeneratedDoc {
  const types = Object.keys(CATALOGUE) as EventType[]
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'RLAnything events',
      version: '1.0.0',
      description:
        'Every fact of a run, which the head publishes after it is durable, and the other messages of its broker. Directions are those of the head. See docs/events.md.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/msgpack',
    servers: {
      run: {
        host: '127.0.0.1:4222',
        protocol: 'nats',
        description: 'runs/<run>/connection.json has the address, user and password of a tool.',
        security: Object.keys(SECURITY).map((name) => ref(`securitySchemes/${name}`)),
      },
    },
    channels: {
      ...Object.fromEntries(types.map((type) => [type, channel(`evt.${type}`, type, eventNote(type))])),
      ...Object.fromEntries(
        Object.entries(EXCHANGES).flatMap(([name, { address, summary }]) => [
          [name, channel(address, `${name}Request`, summary)],
          [`${name}Reply`, { address: null, messages: { reply: ref(`messages/${name}Reply`) } }],
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(STREAMS).map(([name, { address, summary }]) => [
          name,
          channel(address, name, summary),
        ]),
      ),
    },
    operations: {
      ...Object.fromEntries(
        types.map((type) => [`publish${type}`, { action: 'send', channel: { $ref: `#/channels/${type}` } }]),
      ),
      ...Object.fromEntries(
        Object.keys(EXCHANGES).map((name) => [
          name,
          {
            action: 'receive',
            channel: { $ref: `#/channels/${name}` },
            reply: { channel: { $ref: `#/channels/${name}Reply` } },
          },
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(STREAMS).map(([name, { action }]) => [
          name,
          { action, channel: { $ref: `#/channels/${name}` } },
        ]),
      ),
    },
    components: {
      securitySchemes: SECURITY,
      parameters: PARAMETERS,
      messages: {
        ...Object.fromEntries(types.map((type) => [type, eventMessage(type)])),
        ...Object.fromEntries(
          Object.entries(EXCHANGES).flatMap(([name, { request, reply }]) => [
            [`${name}Request`, { name: `${name}Request`, payload: request }],
            [
              `${name}Reply`,
              { name: `${name}Reply`, headers: ref('schemas/ReplyHeaders'), payload: either(reply, refusal) },
            ],
          ]),
        ),
        ...Object.fromEntries(
          Object.entries(STREAMS).map(([name, { payload, summary }]) => [name, { name, summary, payload }]),
        ),
      },
      schemas: {
        Headers: {
          type: 'object',
          properties: {
            [POSITION_HEADER]: { type: 'string', pattern: '^[0-9]+$', description: 'Position in the log.' },
            [EPOCH_HEADER]: { type: 'string', pattern: '^[0-9]+$', description: 'Epoch of the head.' },
          },
        },
        ReplyHeaders: {
          type: 'object',
          properties: {
            [EPOCH_HEADER]: { type: 'string', pattern: '^[0-9]+$', description: 'Epoch of the head.' },
            'Rl-Error': { const: '1', description: 'The payload is a refusal.' },
          },
        },
        Heartbeat: toJsonSchema(HEARTBEAT),
        Envelope: envelopeJsonSchema(),
        DataInBlob: BLOB,
        ...Object.fromEntries(types.map((type) => [type, dataSchema(type)])),
      },
    },
  }
  const yaml = stringify(document, { aliasDuplicateObjects: false, lineWidth: 110 })
  return { path: 'asyncapi.yaml', text: `# Generated by npm run docs from src/events.\n${yaml}` }
}

function ref(place: string): { readonly $ref: string } {
  return { $ref: `#/components/${place}` }
}

function channel(address: string, message: string, summary: string | undefined): object {
  const parameters = ['run', ...[...address.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)]
  return {
    address: `rl.v1.{run}.${address}`,
    ...(summary === undefined ? {} : { summary }),
    parameters: Object.fromEntries(parameters.map((name) => [name, ref(`parameters/${name}`)])),
    messages: { [message]: ref(`messages/${message}`) },
  }
}

function eventNote(type: EventType): string | undefined {
  return type === 'RolloutRequested'
    ? 'Also a work queue (JetStream stream `rl-<run>-RolloutRequested`, consumer `workers`): rollouts to be played.'
    : undefined
}

function eventMessage(type: EventType): object {
  return {
    name: type,
    summary: CATALOGUE[type].summary,
    headers: ref('schemas/Headers'),
    payload: {
      allOf: [
        ref('schemas/Envelope'),
        {
          type: 'object',
          properties: {
            type: { const: type },
            v: { const: CATALOGUE[type].v },
            data: { anyOf: [ref(`schemas/${type}`), ref('schemas/DataInBlob')] },
          },
        },
      ],
    },
  }
}
