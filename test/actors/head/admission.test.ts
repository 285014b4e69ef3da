/** The head takes what answers an open request, and nothing else: in whole runs of the deciders, and from each kind of user. */
import { decode as unpack } from '@msgpack/msgpack'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startDecider } from '../../../src/actors/decider/decider.ts'
import type { JudgeRollouts } from '../../../src/actors/decider/jobs.ts'
import { decidersOf } from '../../../src/actors/deciders.ts'
import { ANSWERS, unasked } from '../../../src/actors/head/admission/answers.ts'
import { askedBy, enter, nothingAsked } from '../../../src/actors/head/admission/asked.ts'
import { outputId } from '../../../src/actors/runtime/decider-host.ts'
import { type Config, configDigest, loggable } from '../../../src/config.ts'
import {
  CATALOGUE,
  type EventData,
  type EventType,
  keyOf,
  type LoggedEvent,
  type NewEvent,
} from '../../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../../src/events/codec.ts'
import type { Role } from '../../../src/events/envelope.ts'
import { forkLog } from '../../../src/events/log.ts'
import { openLogReader } from '../../../src/events/log-reader.ts'
import { pack } from '../../../src/events/msgpack.ts'
import { subjectsOf } from '../../../src/events/subjects.ts'
import { AUTHORS, type Author, roleOf } from '../../../src/events/users.ts'
import { readFixtures, sampleOf } from '../../events/samples.ts'
import { recordLoop } from '../../replay/record.ts'
import { startTestHead, type TestHead, temporaryFolder, until } from '../../support/run.ts'
import { trajectory } from '../../support/toy.ts'
import { shuffled, smallConfig } from '../loop.ts'

/** Each in an order of its own: synchronous and stale, judged one by one and by group, with rollouts that fail, without a judge. */
const STALE = { name: 'simulated', tasks: 12, tasksPerIteration: 3, rolloutsPerTask: 4, minGroupSize: 2 }
/** Groups are drawn from a reserve. */
const REFILLED = {
  ...{ name: 'simulated', tasks: 12, tasksPerIteration: 2, rolloutsPerTask: 4, minGroupSize: 2 },
  refill: 3,
}

const RUNS: readonly Record<string, Record<string, unknown>>[] = [
  {},
  { run: { iterations: 4, evaluateEvery: 2, maxStaleness: 2 }, environment: STALE },
  { rewardModel: { provider: 'simulated', judging: 'group' }, simulation: { steps: 3, failureShare: 0.2 } },
  { evaluation: { splits: ['in-domain', 'ood'], tasks: 2, judge: true, rollouts: 2 } },
  {
    evaluation: { splits: ['in-domain'], tasks: 2, judge: true, rollouts: 3 },
    rewardModel: { provider: 'simulated', judging: 'group' },
    run: { iterations: 3, evaluateEvery: 1, maxStaleness: 1 },
    environment: STALE,
  },
  { rewardModel: { mode: 'off' }, learning: { reward: 'outcome' } },
  { simulation: { steps: 2, failureShare: 0.5 } },
  { environment: REFILLED },
  { environment: REFILLED, run: { iterations: 3, maxStaleness: 1 } },
]

/** Of a whole that is not there yet: their natural keys alone say that one is. */
const PARTS: ReadonlySet<string> = new Set(['TaskAdded', 'RolloutRequested', 'StepScored'])

type Cause = (event: LoggedEvent) => string | null

/** What led to each event, as the deciders have it: they are fed the same events. */
function causesIn(config: Config): { readonly of: Cause; readonly see: (event: LoggedEvent) => void } {
  const deciders = decidersOf(config).map(startDecider)
  const byKey = new Map<string, string>()
  const judged = new Map<string, string>()
  return {
    of(event) {
      if (event.type === 'StepScored') return judged.get(event.data.rollout) ?? null
      if (event.type === 'TaskAdded') return byKey.get('TaskAdded/train/train-00000') ?? null
      return byKey.get(keyOf(event) ?? '') ?? null
    },
    see(event) {
      if (event.type === 'RolloutRequested') byKey.set(`Rollout/${event.data.rollout}`, event.id)
      for (const output of deciders.flatMap((decider) => decider.handle(event))) {
        const key = output.type === 'event' ? (keyOf(output.event) ?? '') : output.job.done
        if (!byKey.has(key)) byKey.set(key, event.id)
        if (output.type === 'job' && output.job.kind === 'judge')
          for (const { rollout } of (output.job.input as JudgeRollouts).rollouts)
            judged.set(rollout, event.id)
      }
    },
  }
}

/** The first of the users that may append the type. */
function userOf({ type, data }: NewEvent): Author {
  if (type === 'TaskRejected') return data.task === null ? 'adapter-worker' : 'environment'
  return CATALOGUE[type].by[0]
}

for (const [index, changes] of RUNS.entries())
  test(`what deciders and workers append is asked for at its time and at no other: ${JSON.stringify(changes)}`, () => {
    const config = smallConfig(changes)
    const log = recordLoop(temporaryFolder(), `run-${index}`, config, undefined, shuffled(index))
    const asked = nothingAsked()
    const causes = causesIn(config)
    const waiting = [...log.events()]
    assert.is(waiting.at(-1)?.type, 'RunCompleted')
    const reasonOf = (event: LoggedEvent, cause: string | null) =>
      unasked(event, cause, { asked, log, user: userOf(event), group: [] })
    for (const [at, event] of waiting.entries()) {
      const isHeads = userOf(event) === 'head'
      const cause = causes.of(event)
      const name = `${event.type} ${keyOf(event)} at ${event.position}`
      if (!isHeads) {
        assert.ok(cause, `${name} has a cause`)
        assert.is(reasonOf(event, cause), null, name)
        assert.ok(
          ANSWERS[event.type].decided === 'always' || reasonOf(event, null),
          `${name} without a cause`,
        )
      }
      // What comes later has not been asked for, or its turn has come already.
      for (const later of waiting.slice(at + 1, at + 40))
        if (userOf(later) !== 'head' && causes.of(later) === null)
          assert.ok(
            reasonOf(later, event.id),
            `${later.type} ${keyOf(later)} before it is asked for, at ${event.position}`,
          )
      enter(asked, event.type, event.data, event)
      causes.see(event)
      if (!isHeads && !PARTS.has(event.type)) assert.ok(reasonOf(event, cause), `${name} a second time`)
    }
    for (const open of [
      asked.rollouts,
      asked.rewrites,
      asked.measurements,
      asked.iterations,
      asked.judgements.byName,
    ])
      assert.is(open.size, 0, 'nothing stays that is over')
    log.close()
  })

/** What a fork changes halfway through an iteration, and with it what that iteration would owe if it began now. */
const FORKS: readonly (readonly [
  changes: Record<string, Record<string, unknown>>,
  forked: Record<string, Record<string, unknown>>,
])[] = [
  [{ run: { iterations: 1, evaluateEvery: 3 } }, { run: { iterations: 2, evaluateEvery: 3 } }],
  [{ run: { iterations: 2, evaluateEvery: 3 } }, { run: { iterations: 2, evaluateEvery: 1 } }],
  [{ adaptation: { evidence: 'point', low: 0.49, high: 0.51 } }, { adaptation: { enabled: false } }],
  [{ adaptation: { enabled: false } }, { adaptation: { evidence: 'point', low: 0.49, high: 0.51 } }],
  [
    { evaluation: { splits: ['in-domain'], tasks: 2, judge: true, rollouts: 2 } },
    { evaluation: { splits: ['in-domain'], tasks: 2, judge: false, rollouts: 3 } },
  ],
  [
    { evaluation: { splits: ['in-domain'], tasks: 2 } },
    { evaluation: { splits: ['in-domain'], tasks: 2, judge: true } },
  ],
]

for (const [index, [changes, forked]] of FORKS.entries())
  test(`wherever a fork leaves its parent, what was decided before is carried out: ${JSON.stringify(forked)}`, () => {
    const root = temporaryFolder()
    const [config, other] = [changes, { ...changes, ...forked }].map((sections) =>
      smallConfig({
        run: { iterations: 2, evaluateEvery: 2 },
        environment: {
          name: 'simulated',
          tasks: 3,
          tasksPerIteration: 2,
          rolloutsPerTask: 2,
          minGroupSize: 2,
        },
        simulation: { steps: 1 },
        ...sections,
      }),
    )
    const digest = { configDigest: configDigest(other), codeVersion: 'test', seed: other.run.seed }
    const plain = recordLoop(root, 'plain', config, undefined, shuffled(index))
    const begun = plain.positionOf('key', 'IterationStarted/1') ?? 0
    const decided = plain.positionOf('id', plain.byKey('RunCompleted')?.cause ?? '') ?? plain.head().position
    plain.close()
    for (let at = begun; at < decided; at += 7) {
      const parent = { run: 'plain', position: at }
      const event: NewEvent = { type: 'RunStarted', data: { config: loggable(other), ...digest, parent } }
      const log = recordLoop(root, `fork-${at}`, config, undefined, shuffled(index), [{ at, event }])
      const asked = nothingAsked()
      const causes = causesIn(config)
      const events = [...log.events()]
      assert.is(events.at(-1)?.type, 'RunCompleted', `a fork at ${at} comes to its end`)
      for (const one of events) {
        const situation = { asked, log, user: userOf(one), group: [] }
        if (userOf(one) !== 'head')
          assert.is(unasked(one, causes.of(one), situation), null, `${keyOf(one)} of a fork at ${at}`)
        enter(asked, one.type, one.data, one)
        causes.see(one)
      }
      log.close()
    }
  })

test('what is open is the same whether a log is followed or read at a start', () => {
  const root = temporaryFolder()
  const log = recordLoop(root, 'read', smallConfig(RUNS[1]), undefined, shuffled(7))
  const asked = nothingAsked()
  for (const event of log.events()) {
    enter(asked, event.type, event.data, event)
    if (event.position % 23 !== 0) continue
    const path = `${root}/prefix-${event.position}/events.db`
    forkLog(path, { run: `prefix-${event.position}`, parent: log.path, position: event.position })
    const prefix = openLogReader(path)
    assert.equal(askedBy(prefix), asked, `at ${event.position}`)
    prefix.close()
  }
  log.close()
})

const subjects = subjectsOf('test')
const REPORTS: ReadonlySet<string> = new Set(['ActorStarted', 'ActorFailed', 'StallDetected'])

type Sent = { readonly id?: string; readonly cause?: string | null }

/** The code of a refusal, else `[position, duplicate, other]` of the last event. */
async function send(
  head: TestHead,
  user: Author,
  events: readonly NewEvent[],
  { id, cause = null }: Sent = {},
) {
  const group = events.map(({ type, data }) => {
    const envelope = {
      id: id ?? uuidv7(),
      type,
      v: CATALOGUE[type].v,
      run: 'test',
      actor: `${roleOf(user)}/x`,
    }
    return encodeEnvelope({ ...envelope, time: 1, cause, data })
  })
  const [reply] = unpack(
    await head.bus.request(subjects.append(user), pack([group]), { timeoutMs: 60_000 }),
  ) as ({ code: string } | number[][])[]
  return Array.isArray(reply) ? reply.at(-1) : reply.code
}

/** A head in its first iteration, whose two rollouts of one task are asked for. */
async function begunHead(changes: Record<string, Record<string, unknown>> = {}, requested = 2) {
  const head = await startTestHead()
  const config = smallConfig({ evaluation: { splits: [] }, ...changes })
  const append = (event: NewEvent) => head.service.append([event])[0].position
  const idAt = (position: number) => head.log.row(position)?.id as string
  const digest = { configDigest: configDigest(config), codeVersion: 'test', seed: 1, parent: null }
  append({ type: 'RunStarted', data: { config: loggable(config), ...digest } })
  const task = {
    id: 'task',
    environment: 'simulated',
    kind: 'simulated',
    goal: '',
    recipe: { difficulty: 0 },
  }
  append({ type: 'TaskAdded', data: { slot: 'train-00000', split: 'train', index: 0, total: 1, task } })
  const nothing = { checkpoint: null, trainedOn: [], samples: 0, metrics: {}, stopped: null }
  const first = { iteration: 0, version: 0, parentVersion: null, ...nothing }
  append({ type: 'PolicyUpdated', data: first })
  append({ type: 'RewardModelUpdated', data: first })
  append({ type: 'IterationStarted', data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 } })
  const groups = [{ slot: 'train-00000', task: 'task', purpose: 'train' as const }]
  append({ type: 'IterationPlanned', data: { iteration: 1, groups, rolloutsPerTask: 2 } })
  const requests = [0, 1].slice(0, requested).map(
    (index): EventData<'RolloutRequested'> => ({
      ...{ rollout: `1/train-00000/${index}`, iteration: 1, purpose: 'train', split: 'train', index },
      ...{ slot: 'train-00000', task: 'task', policyVersion: 0, seed: [1, index], maxSteps: 3 },
    }),
  )
  const ids = requests.map((data) => idAt(append({ type: 'RolloutRequested', data })))
  return { head, requests, ids, append, idAt }
}

function updated(version: number): EventData<'PolicyUpdated'> {
  const nothing = { checkpoint: null, trainedOn: [], samples: 0, metrics: {}, stopped: null }
  return { iteration: version, version, parentVersion: version - 1, ...nothing }
}

test('an event of any type that nothing asks for is refused, whoever sends it', async () => {
  const { head } = await begunHead()
  const before = head.log.head().position
  let reports = 0
  for (const fixture of readFixtures()) {
    const event = sampleOf(fixture)
    if (fixture.v !== CATALOGUE[event.type].v) continue
    for (const user of AUTHORS.filter((author) => author !== 'head')) {
      const own =
        'role' in event.data
          ? { ...event, data: { ...event.data, role: roleOf(user), decider: undefined } }
          : event
      const outcome = await send(head, user, [own as NewEvent])
      if (REPORTS.has(event.type) && Array.isArray(outcome)) reports++
      else if (!Array.isArray(outcome) || outcome[1] === 0)
        assert.match(String(outcome), /^(log\.not-open|event\.)/, `${event.type} of ${user}: ${outcome}`)
    }
  }
  assert.is(head.log.head().position, before + reports)
  await head.close()
})

test('a result is taken that names what asked for it; another place, cause, number or failure is refused', async () => {
  const { head, requests, ids, append, idAt } = await begunHead()
  const [request, second] = requests
  const played = (changes: object): NewEvent => {
    const event = trajectory(request)
    return { ...event, data: { ...event.data, ...changes } } as NewEvent
  }
  const worker = 'environment-worker' as const
  const [cause] = ids
  const refused: readonly [NewEvent, string | null][] = [
    [played({}), null],
    [played({}), ids[1]],
    [played({ rollout: '1/train-00001/0', slot: 'train-00001' }), cause],
    [played({ rollout: '1/train-00000/2', index: 2 }), cause],
    [played({ policyVersion: 1 }), cause],
    [played({ seed: [9, 9] }), cause],
    [played({ purpose: 'candidate' }), cause],
    [
      {
        type: 'RolloutClaimed',
        data: { rollout: request.rollout, task: 'other', agent: 'a', deadlineSeconds: 1 },
      },
      cause,
    ],
    [{ type: 'CallsReserved', data: { role: 'environment', lot: 0, calls: 1 } }, null],
  ]
  for (const [event, of] of refused)
    assert.is(await send(head, worker, [event], { cause: of }), 'log.not-open', JSON.stringify(event.data))

  const seen = { sha256: '0'.repeat(64), bytes: 1, mediaType: 'image/png' as const, width: 1, height: 1 }
  const screens = (count: number): NewEvent => {
    const { rollout, iteration, task } = request
    return { type: 'FramesRecorded', data: { rollout, iteration, task, frames: Array(count).fill(seen) } }
  }
  assert.is(
    await send(head, worker, [screens(3), played({})], { cause }),
    'log.not-open',
    'a screen too many',
  )
  const at = (await send(head, worker, [screens(2), played({})], { cause })) as number[]
  assert.equal(at.slice(1), [0])

  // Work that is over is no error to whoever comes late: it is told where the log has the result, and that it is another.
  assert.equal(await send(head, worker, [played({})], { cause }), [at[0], 1], 'the same once more')
  assert.equal(await send(head, worker, [played({ actions: ['wait'] })], { cause }), [at[0], 1, 1], 'another')
  const claim = { rollout: request.rollout, task: 'task', agent: 'late', deadlineSeconds: 1 }
  assert.equal(await send(head, worker, [{ type: 'RolloutClaimed', data: claim }], { cause }), [at[0], 1, 1])
  await until('what is not kept is told', () => head.log.deadLetters().total === 2)
  assert.equal(
    head.log.deadLetters().newest.map(({ code }) => code),
    ['log.taken', 'log.taken'],
  )

  // The first trajectory is to be judged; nothing is to be learned yet.
  const asker = idAt(at[0])
  const verdict = (step: number, rollout = request.rollout): NewEvent => ({
    type: 'StepScored',
    data: {
      ...{ rollout, iteration: 1, step, task: 'task', rewardModelVersion: 0 },
      ...{ judgements: [], probability: null, progress: null },
    },
  })
  const judge = 'reward-model-worker' as const
  assert.is(await send(head, judge, [verdict(1)], { cause: asker }), 'log.not-open', 'it has one step')
  assert.is(await send(head, judge, [verdict(0, second.rollout)], { cause: asker }), 'log.not-open')
  assert.is(await send(head, judge, [verdict(0)], { cause: ids[0] }), 'log.not-open', 'another event asked')
  assert.ok(Array.isArray(await send(head, judge, [verdict(0)], { cause: asker })))
  const update: NewEvent = { type: 'PolicyUpdated', data: updated(1) }
  assert.is(
    await send(head, 'policy-worker', [update], { cause: asker }),
    'log.not-open',
    'rollouts are missing',
  )

  const summary = {
    rewardModelVersion: 0,
    steps: { good: 0, bad: 0, undecided: 1 },
    meanVerdict: 0,
    complaints: [],
  }
  const { rollout, iteration, slot, task } = request
  append({
    type: 'TrajectoryJudged',
    data: { ...{ rollout, iteration, purpose: 'train', slot, task }, ...summary },
  })
  const lost = {
    ...{ rollout: second.rollout, iteration, purpose: 'train' as const, slot, task },
    cause: 'env',
    error: '',
    attempts: 1,
  } as const
  const failed = (await send(head, worker, [{ type: 'RolloutFailed', data: lost }], {
    cause: ids[1],
  })) as number[]
  const due = idAt(failed[0])
  for (const wrong of [updated(2), { ...updated(1), iteration: 2 }, { ...updated(1), version: 2 }])
    assert.match(
      String(await send(head, 'policy-worker', [{ type: 'PolicyUpdated', data: wrong }], { cause: due })),
      /^(log\.not-open|event\.bad-data)$/,
    )
  const sealed = (version: number): NewEvent => ({
    type: 'CheckpointSealed',
    data: { role: 'policy', version, sha256: '0'.repeat(64), path: 'checkpoints/x' },
  })
  assert.is(await send(head, 'policy-worker', [sealed(2)], { cause: due }), 'log.not-open')
  assert.is(await send(head, 'reward-model-worker', [sealed(1)], { cause: due }), 'event.not-allowed')
  assert.is(
    await send(head, 'policy-worker', [update], { cause: asker }),
    'log.not-open',
    'another event asked',
  )
  const version = (await send(head, 'policy-worker', [sealed(1), update], { cause: due })) as number[]
  assert.equal(version.slice(1), [0])
  const other: NewEvent = { type: 'PolicyUpdated', data: { ...updated(1), samples: 7 } }
  const late = await send(head, 'policy-worker', [sealed(1), other], { cause: due })
  assert.equal(late, [version[0], 1, 1], 'a trainer that comes late is told so')
  assert.is(head.log.countOf('PolicyUpdated'), 2)
  await head.close()
})

test('only open work can fail, and only the process with the role says that the run cannot go on', async () => {
  const { head, requests, ids, append } = await begunHead({ adaptation: { evidence: 'point', maxCalls: 4 } })
  const failure = (role: Role, done: string, goesOn: boolean): NewEvent => ({
    type: 'WorkFailed',
    data: { role, worker: `${role}/x`, job: 'job', done, attempts: 1, error: 'none', goesOn },
  })
  const open = `Rollout/${requests[0].rollout}`
  const refused: readonly [Author, NewEvent, string | null][] = [
    ['environment', failure('environment', 'Rollout/9/train-00000/0', false), ids[0]],
    ['environment', failure('environment', 'Rollout/9/train-00000/0', true), ids[0]],
    ['environment-worker', failure('environment', open, false), ids[0]],
    ['environment', failure('environment', open, false), ids[1]],
    ['policy', failure('policy', 'PolicyUpdated/1', false), ids[0]],
    ['policy', failure('policy', open, false), ids[0]],
    ['policy', failure('policy', 'PolicyUpdated/0', false), null],
    ['adapter', failure('adapter', 'CallsReserved/adapter/0', false), null],
  ]
  for (const [user, event, cause] of refused) {
    const outcome = await send(head, user, [event], { cause })
    // That of a version that is there is over: nothing is stored.
    if (event.type === 'WorkFailed' && event.data.done === 'PolicyUpdated/0')
      assert.equal((outcome as number[]).slice(1), [1, 1])
    else assert.is(outcome, 'log.not-open', JSON.stringify([user, event.data]))
  }
  assert.is(head.log.countOf('WorkFailed'), 0)
  assert.ok(
    Array.isArray(
      await send(head, 'environment-worker', [failure('environment', open, true)], { cause: ids[0] }),
    ),
  )

  const lot = (number: number, calls: number): NewEvent => ({
    type: 'CallsReserved',
    data: { role: 'adapter', lot: number, calls },
  })
  assert.is(await send(head, 'adapter-worker', [lot(1, 1)]), 'log.not-open', 'lots have an order')
  assert.is(await send(head, 'adapter-worker', [lot(0, 5)]), 'log.not-open', 'there are four')
  append(lot(0, 4))
  const spent = failure('adapter', 'CallsReserved/adapter/1', false)
  assert.ok(
    Array.isArray(await send(head, 'adapter-worker', [spent])),
    'a budget that is spent pauses the run',
  )
  await head.close()
})

test('an id of version 8 is that of a decision of the role that its cause leads to', async () => {
  const { head, ids } = await begunHead({}, 1)
  const stall: NewEvent = {
    type: 'StallDetected',
    data: { owner: 'x', waitingFor: 'x', from: 'x', since: 1, deadline: 2 },
  }
  const [cause] = ids
  for (const role of ['head', 'policy', 'reward-model', 'environment', 'adapter'] as const)
    for (const user of AUTHORS.filter((author) => author !== 'head'))
      for (const index of [0, 3]) {
        const id = outputId('test', { role }, cause, index)
        assert.is(await send(head, user, [stall], { id, cause }), 'event.not-allowed', `${user} as ${role}`)
        assert.is(await send(head, user, [stall], { id }), 'event.not-allowed', `${user} as ${role}`)
      }
  const started = head.log.byKey('IterationStarted/1')?.id as string
  const asked: NewEvent<'RolloutRequested'> = {
    type: 'RolloutRequested',
    data: {
      ...{ rollout: '1/train-00000/1', iteration: 1, purpose: 'train', split: 'train', slot: 'train-00000' },
      ...{ task: 'task', index: 1, policyVersion: 0, seed: [1, 2], maxSteps: 3 },
    },
  }
  const id = outputId('test', { role: 'environment' }, started, 700)
  assert.is(await send(head, 'environment', [asked], { cause: started }), 'event.not-allowed', 'version 7')
  assert.is(
    await send(head, 'environment', [asked], {
      id: outputId('other', { role: 'environment' }, started, 0),
      cause: started,
    }),
    'event.not-allowed',
  )
  assert.is(await send(head, 'environment', [asked], { id, cause }), 'event.not-allowed')
  assert.equal(((await send(head, 'environment', [asked], { id, cause: started })) as number[]).slice(1), [0])
  await head.close()
})

test('every type says what asks for it', () => {
  assert.equal(Object.keys(ANSWERS).sort(), Object.keys(CATALOGUE).sort())
  for (const type of Object.keys(CATALOGUE) as EventType[])
    if (CATALOGUE[type].by.length === 1 && CATALOGUE[type].by[0] === 'head')
      assert.ok(ANSWERS[type].unasked({ data: {} as never, cause: null }, {} as never), type)
})

test.run()
