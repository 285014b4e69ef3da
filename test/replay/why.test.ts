import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { policyBatch } from '../../src/actors/policy/batch.ts'
import { runFolder } from '../../src/broker/connection.ts'
import { loggedConfig } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { dotLines, type Node, treeLines } from '../../src/replay/tree.ts'
import { groupOf, ofType, whyTask, whyVersion } from '../../src/replay/why.ts'
import { whyStep } from '../../src/replay/why-step.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { copyRun, unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

function all(root: Node): Node[] {
  return [root, ...root.children.flatMap(all)]
}

test('every task of a run has its whole lineage: proposal, evidence, decision, and all parents to the first', () => {
  const log = recordLoop(
    temporaryFolder(),
    'tasks',
    smallConfig({ run: { iterations: 8, evaluateEvery: 8 } }),
  )
  const proposals = ofType(log, 'TaskProposed')
  assert.ok(proposals.length > 2)
  const rejected = new Set(ofType(log, 'TaskRejected').map(({ data }) => data.task))
  const accepted = new Set(ofType(log, 'TaskAccepted').map(({ data }) => data.task))
  assert.ok(rejected.size > 0)
  for (const { data } of proposals) {
    const answer = whyTask(log, data.task.id)
    const status = rejected.has(data.task.id)
      ? 'rejected'
      : accepted.has(data.task.id)
        ? 'accepted'
        : 'candidate'
    assert.is(answer.title, `task ${data.task.id}: ${status}`)
    const nodes = all(answer)
    assert.ok(nodes.some(({ title }) => title.startsWith(`proposed in iteration ${data.iteration}`)))
    assert.is(
      nodes.some(({ facts }) => facts.thresholds !== undefined),
      status !== 'candidate' || nodes.length > 4,
    )
    const rules = nodes.map(({ facts }) => facts.rule).join('\n')
    if (status === 'accepted') assert.match(rules, /settling: .*\[candidateProven\] \/ acceptCandidate/)
    if (status === 'rejected') assert.match(rules, /settling: .*\[candidateRefuted\] \/ rejectCandidate/)
    assert.match(nodes.at(-1)?.title ?? '', /of the first set$/)
  }
  for (const { data } of ofType(log, 'TaskAdded')) {
    assert.match(whyTask(log, data.task.id).title, /of the first set$/)
    assert.ok(whyTask(log, data.slot).children.length > 0)
  }
  log.close()
})

/** All texts that are one id are another. */
function renamed<T>(value: T, from: string, to: string): T {
  if (value === from) return to as T
  if (Array.isArray(value)) return value.map((inner) => renamed(inner, from, to)) as T
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, renamed(inner, from, to)])) as T
}

test('a task that two slots came to is told for both, each with its own decision', () => {
  const config = smallConfig({ run: { iterations: 8, evaluateEvery: 8 } })
  const plain = recordLoop(temporaryFolder(), 'plain', config)
  const [rejected] = ofType(plain, 'TaskRejected').filter(({ data }) => data.task !== null)
  const accepted = ofType(plain, 'TaskAccepted').find(({ data }) => data.slot !== rejected.data.slot)
  plain.close()
  assert.ok(accepted)
  const id = accepted.data.task
  const log = recordLoop(
    temporaryFolder(),
    'twice',
    config,
    (event) =>
      ({
        ...event,
        data: renamed(event.data, rejected.data.task ?? '', id),
      }) as LoggedEvent,
  )
  const answer = whyTask(log, id)
  assert.is(answer.facts.times, 2)
  assert.equal(answer.children.map(({ title }) => title).sort(), [
    `task ${id}: accepted`,
    `task ${id}: rejected`,
  ])
  const slots = answer.children.map(({ facts }) => facts.slot).sort()
  assert.equal(slots, [accepted.data.slot, rejected.data.slot].sort())
  log.close()
})

test('a task is found by its id also where its event rests in a blob', () => {
  const root = temporaryFolder()
  const { log: path } = copyRun(unpackFixture(root), runFolder('large', root), {
    inBlobs: ['TaskAdded', 'TaskProposed'],
  })
  const log = openLogReader(path)
  const tasks = [...ofType(log, 'TaskAdded'), ...ofType(log, 'TaskProposed')].map(({ data }) => data.task)
  assert.ok(tasks.length > 2)
  for (const { id } of tasks) assert.match(whyTask(log, id).title, `task ${id}: `)
  log.close()
})

test('a step of a candidate that was rejected, or of too small a group, has no advantage, and the reason is told', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const [candidate] = ofType(log, 'TrajectoryCompleted').filter(({ data }) => data.purpose === 'candidate')
  const { rollout, iteration, slot } = candidate.data
  const advantageIn = (answering: LogReader) =>
    all(whyStep(answering, rollout, 0)).find(({ title }) => title.startsWith('advantage '))
  assert.is(advantageIn(log)?.facts.filtered, null)
  const decision = log.byKey(`TaskDecided/${slot}/${iteration}`)
  assert.is(decision?.type, 'TaskAccepted')
  const rejecting: LogReader = {
    ...log,
    byKey: (key) =>
      key === `TaskDecided/${slot}/${iteration}`
        ? ({ ...decision, type: 'TaskRejected' } as LoggedEvent)
        : log.byKey(key),
  }
  const rejected = advantageIn(rejecting)
  assert.equal([rejected?.title, rejected?.facts.filtered], ['advantage 0', 'the candidate was not accepted'])
  const alone: LogReader = {
    ...log,
    byKey: (key) =>
      /^Rollout\/.*\/[1-9]$/.test(key) && key !== `Rollout/${rollout}` ? null : log.byKey(key),
  }
  assert.match(String(advantageIn(alone)?.facts.filtered), /^1 rollouts have an outcome/)
  log.close()
})

test("a step's advantage is that of the update which used it", () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const config = loggedConfig(startsOf(log).first.data.config)
  const [update] = ofType(log, 'PolicyUpdated').filter(({ data }) => data.version === 1)
  const plan = log.byKey('IterationPlanned/1')
  assert.ok(plan?.type === 'IterationPlanned')
  const groups = plan.data.groups.map((group) => {
    return { ...group, accuracy: { successes: 0, n: 0 }, rollouts: groupOf(log, 1, group.slot) }
  })
  const { advantages } = policyBatch(
    groups,
    ofType(log, 'TrajectoryCompleted').map(({ data }) => data),
    ofType(log, 'StepScored').map(({ data }) => data),
    config,
  )
  const [rollout] = update.data.trainedOn
  const values = advantages.get(rollout) ?? []
  for (const [step, value] of values.entries()) {
    const nodes = all(whyStep(log, rollout, step))
    assert.ok(nodes.some(({ title }) => title === `advantage ${value}`))
    assert.ok(nodes.some(({ title }) => title === 'used by policy version 1'))
    assert.is(nodes.filter(({ title }) => title.startsWith('vote')).length, config.rewardModel.samples)
  }
  log.close()
})

test('a version tells what it was trained on and how it did; what is unknown is an error', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const answer = whyVersion(log, 'policy', 2)
  const titles = all(answer).map(({ title }) => title)
  assert.ok(titles.some((title) => title.startsWith('trained on 2/')))
  assert.ok(titles.includes('evaluated on in-domain'))
  assert.is(whyVersion(log, 'reward-model', 0).facts['made from'], 'the cold start')
  assert.is(answer.facts.rule, 'serving.choosing: always -> training / train')
  assert.match(treeLines(answer).join('\n'), /└── /)
  const dot = dotLines(answer)
  assert.is(dot.filter((line) => /^ *n\d+ -> /.test(line)).length, all(answer).length - 1)
  for (const ask of [
    () => whyTask(log, 'nothing'),
    () => whyStep(log, '9/x/0', 0),
    () => whyStep(log, ofType(log, 'TrajectoryCompleted')[0].data.rollout, 99),
    () => whyVersion(log, 'policy', 9),
  ])
    assert.throws(ask, (error: unknown) => error instanceof RlError && error.code === 'why.unknown')
  log.close()
})

test.run()
