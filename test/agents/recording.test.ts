/** `rl train --from RUN`: the rollouts of another run are learned from, and nobody plays them again. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  leftOutText,
  type Recording,
  readRecording,
  recordingSettings,
  wholeCalls,
} from '../../src/agents/recording.ts'
import type { EventData } from '../../src/events/catalogue.ts'
import { readFloat32, readInt32 } from '../../src/events/columns.ts'
import { askingAgent } from '../support/agent-files.ts'
import { GUESS, writeGuessingModel } from '../support/guessing-model.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
function file(name: string, text: string): string {
  writeFileSync(join(root, name), text)
  return join(root, name)
}

const AGENT = file('agent.ts', askingAgent({ more: 'if (!answer.ok) throw new Error(await answer.text())' }))
const GRADE = file('grade.ts', 'export const grade = (_: unknown, result: string) => result.includes("7")')
const TASKS = file(
  'tasks.jsonl',
  Array.from({ length: 12 }, (_, i) =>
    JSON.stringify({ id: `t${i}`, question: GUESS, ...(i > 7 ? { split: 'held-out' } : {}) }),
  ).join('\n'),
)

function start(words: readonly string[]) {
  return startProcess(
    [
      ...['src/rl.ts', 'train', AGENT, '--tasks', TASKS, '--grade', GRADE, '--model', join(root, 'model')],
      ...['--set', 'backend=wasm', '--set', 'policy.training.klLimit=null'],
      ...['--set', 'policy.training.learningRate=0.003', ...words],
    ],
    { RL_RUNS: root },
  )
}

async function whole(words: readonly string[]): Promise<string> {
  const { status, output } = start(words)
  assert.is(await status, 0, output())
  return output()
}

type Trajectory = EventData<'TrajectoryCompleted'>
const isTrained = ({ data }: { readonly data: Trajectory }) => data.purpose === 'train'

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const isFirst = ({ data }: { readonly data: Trajectory }) => data.policyVersion === 0
const tokensOf = ({ segments }: Trajectory) =>
  segments.map(({ tokensI32 }) => [...readInt32(tokensI32)].join()).join()
const logprobsOf = ({ segments }: Trajectory) =>
  segments.flatMap(({ logprobsF32 }) => [...readFloat32(logprobsF32)])

test('recorded rollouts are learned from, and only held-out tasks are played', async () => {
  await writeGuessingModel(join(root, 'model'))
  await whole(['--run', 'played', '--iterations', '2'])
  const played = eventsOf('played', ['TrajectoryCompleted']).filter(isTrained)
  const told = await whole(['--run', 'learned', '--from', 'played', '--iterations', '12'])
  assert.match(
    told,
    /run played: 128 rollouts of 8 tasks to learn from, \d+ of them succeeded \(left out: \d+ of held-out tasks\)/,
  )
  assert.match(told, /^(better|no difference shown|worse): held-out \d\.\d\d -> \d\.\d\d/m, told)

  const trained = eventsOf('learned', ['TrajectoryCompleted']).filter(isTrained)
  const recorded = new Set(played.map(({ data }) => `${data.task} ${data.actions}`))
  for (const { data } of trained) assert.ok(recorded.has(`${data.task} ${data.actions}`), data.rollout)
  // What the first version played itself has the log-probs with which it was drawn.
  const drawn = new Map(played.filter(isFirst).map(({ data }) => [tokensOf(data), data]))
  const same = trained
    .filter(isFirst)
    .map(({ data }) => [logprobsOf(data), drawn.get(tokensOf(data))] as const)
    .filter(([, before]) => before !== undefined)
  assert.ok(same.length > 8, `${same.length} answers have the same tokens`)
  for (const [logprobs, before] of same)
    for (const [t, value] of logprobsOf(before!).entries()) assert.ok(Math.abs(value - logprobs[t]) < 1e-3)

  const byRollout = new Map(trained.map(({ data }) => [data.rollout, data]))
  const imitated = eventsOf('learned', ['PolicyUpdated']).map(({ data }) =>
    data.trainedOn.map((rollout) => byRollout.get(rollout)!),
  )
  assert.ok(imitated.flat().length > 16)
  for (const { outcome, rollout } of imitated.flat())
    assert.is(outcome.kind === 'scored' && outcome.value, 1, `${rollout} failed and was imitated`)
  const meanLogprob = (rollouts: readonly Trajectory[]) =>
    mean(rollouts.map((one) => mean(logprobsOf(one).filter((value) => value < 0))))
  const [before, after] = [meanLogprob(imitated[1]), meanLogprob(imitated.at(-1)!)]
  assert.ok(after > before + 1, `${before} -> ${after}`)
})

test('a run without anything to learn from is refused, and held-out tasks never teach', async () => {
  process.env.RL_RUNS = root
  assert.throws(
    () =>
      readRecording(
        'played',
        Array.from({ length: 12 }, (_, i) => ({ id: `t${i}` })),
      ),
    /run 'played' has no rollout to learn from \(left out: \d+ of held-out tasks\)/,
  )
  const { tasks } = readRecording('played', [{ id: 't1' }])
  assert.not.ok(tasks.has('t1'))
  const { status, output } = start(['--from', 'none', '--run', 'new'])
  assert.ok(![0, null].includes(await status))
  assert.match(output(), /none/)
})

test('a task that was recorded once is enough', () => {
  const recorded = (count: number): Recording => ({
    tasks: new Map([
      ['a', { task: { id: 'a' }, rollouts: Array.from({ length: count }, () => ({ value: 1, calls: [] })) }],
    ]),
    leftOut: {},
  })
  for (const count of [1, 2, 3, 20]) {
    const settings = recordingSettings(recorded(count))
    const [rollouts, least] = [settings['environment.rolloutsPerTask'], settings['environment.minGroupSize']]
    assert.ok(Number(least) <= Number(rollouts), `${count}: ${least} of ${rollouts}`)
  }
})

test('calls get back the messages and tools that they share with earlier ones', () => {
  const call = (kept: number, messages: unknown[], tools: unknown[] | null) => ({
    ...{ kept, messages: JSON.stringify(messages), tools: tools && JSON.stringify(tools) },
    ...{ answer: '{"content":"a"}', model: 'm', finish: 'stop' },
  })
  const calls = wholeCalls([call(0, ['a', 'b'], ['x']), call(2, ['c'], null), call(1, ['d'], [])])
  assert.equal(
    calls.map(({ messages, tools }) => [messages, tools]),
    [
      [['a', 'b'], ['x']],
      [['a', 'b', 'c'], ['x']],
      [['a', 'd'], []],
    ],
  )
  assert.is(leftOutText({}), '')
  assert.is(leftOutText({ 'without calls': 2 }), ' (left out: 2 without calls)')
})

test.run()
