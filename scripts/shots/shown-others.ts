/** Runs of other settings to be shown: programs by tests, screens of a desktop, the chat of an agent, and an ablation. */
import { runFolder } from '../../src/broker/connection.ts'
import { openBlobStore } from '../../src/events/blobs.ts'
import type { EventData, LoggedEvent } from '../../src/events/catalogue.ts'
import { pathOf, pathOfAblation, pathOfRollout } from '../../src/ui/logic/route.ts'
import { greyPng } from '../../test/ui/grey-png.ts'
import { idOf, madeEvents, writeRun } from '../../test/ui/made-run.ts'
import type { Shown } from './shown-runs.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

/** A shipped one, docs/results/web-ablation. */
const ABLATION = 'web-ablation'
const SIZE = { width: 320, height: 180 }
/** Rectangles of a window: left, top, width, height, grey. */
const WINDOW = [
  [0, 0, 320, 180, 210],
  [30, 20, 260, 140, 250],
  [30, 20, 260, 16, 120],
  [200, 130, 70, 18, 170],
] as const
const CLICKS = ['pyautogui.click(90, 64)', "pyautogui.write('plum')", 'pyautogui.click(235, 139)']

/** Writes the runs into a folder of runs, and returns their screens. */
export function makeOtherRuns(root: string): readonly Shown[] {
  const log = madeEvents(1)
  const time = Date.UTC(2026, 0, 12, 9, 0)
  const events = log.map((event, i) => ({ ...event, time: time + 90 * i }))
  const at = time + 90 * events.length
  const played = events.flatMap(({ type, data }) =>
    type === 'TrajectoryCompleted' && data.purpose === 'train' ? [data] : [],
  )
  const long = played.find(({ steps }) => steps >= CLICKS.length)
  if (long === undefined) throw new Error('no rollout is long enough for the film')
  writeRun(root, 'writes-programs', [...events.map(withPrograms(played)), ...programEvents(played, at)])
  writeRun(root, 'clicks', [...events.map(withClicks(long)), film(root, long, at)])
  writeRun(root, 'talks', [...events, chat(long, at)])
  const [first] = played
  return [
    { name: 'programs', path: pathOf('writes-programs', 'problems', first.iteration, first.slot) },
    { name: 'film', path: `${pathOfRollout('clicks', long.rollout)}?step=0` },
    { name: 'chat', path: `${pathOfRollout('talks', long.rollout)}?step=1` },
    { name: 'ablation', path: pathOfAblation(ABLATION) },
  ]
}

let next = 900_000

function event(type: string, data: object, time: number): LoggedEvent {
  return { id: idOf(next++), type, data, actor: 'head', cause: null, time } as unknown as LoggedEvent
}

/** [programs][tests] */
const VOTES = [
  [1, -1, 0, -1],
  [1, 1, 0, 1],
  [-1, -1, 0, 1],
]
const PROGRAMS = [
  'numbers = list(map(int, input().split()))\nprint(max(numbers))',
  'numbers = list(map(int, input().split()))\nprint(max(numbers) - min(numbers))',
  'print(sum(map(int, input().split())))',
]
/** Index of the program that is right. */
const RIGHT = 1
const TESTS = [
  { input: '1 1\n', output: '0\n' },
  { input: '3 9 4\n', output: '6\n' },
  null,
  { input: '-2 5\n', output: '7\n' },
]
const none = new Uint8Array()

function groupOf(played: readonly Trajectory[]): readonly Trajectory[] {
  const { slot } = played[0]
  return played.filter((one) => one.slot === slot).sort((a, b) => a.index - b.index)
}

function withPrograms(played: readonly Trajectory[]) {
  const programs = new Map(groupOf(played).map(({ rollout }, i) => [rollout, i % PROGRAMS.length]))
  return (one: LoggedEvent): LoggedEvent => {
    if (one.type !== 'StepScored' && one.type !== 'TrajectoryCompleted') return one
    const program = programs.get(one.data.rollout)
    if (program === undefined) return one
    if (one.type === 'TrajectoryCompleted')
      return {
        ...one,
        data: {
          ...one.data,
          actions: one.data.actions.map(() => PROGRAMS[program]),
          outcome: { kind: 'scored', success: program === RIGHT, value: program === RIGHT ? 1 : 0 },
        },
      } as LoggedEvent
    const judgements = VOTES[program].map((score) => ({
      ...{ critique: '', score, tokensI32: none, logprobsF32: none },
    }))
    return { ...one, data: { ...one.data, judgements } } as LoggedEvent
  }
}

function programEvents(played: readonly Trajectory[], time: number): readonly LoggedEvent[] {
  const group = groupOf(played)
  const [{ iteration, slot, task }] = group
  const of = { iteration, purpose: 'train', slot, task } as const
  const tested = group.map(({ rollout }, i) => {
    const isRight = i % PROGRAMS.length === RIGHT
    const verdicts = ['ok', isRight ? 'ok' : 'wrong']
    return event(
      'ProgramTested',
      { ...of, rollout, passedU8: Uint8Array.from([1, isRight ? 1 : 0]), verdicts },
      time,
    )
  })
  const written = TESTS.map((test, index) =>
    event(
      'UnitTestWritten',
      {
        ...{
          ...of,
          index,
          rewardModelVersion: 1,
          text: test ? `${test.input}=> ${test.output}` : 'no test',
          test,
        },
        ...{
          novel: index > 0,
          invalid: test ? null : 'it has no output',
          tokensI32: none,
          logprobsF32: none,
        },
      },
      time,
    ),
  )
  return [...tested, ...written]
}

function withClicks({ rollout }: Trajectory) {
  return (one: LoggedEvent): LoggedEvent =>
    one.type === 'TrajectoryCompleted' && one.data.rollout === rollout
      ? {
          ...one,
          data: {
            ...one.data,
            actions: one.data.actions.map((_, i) => CLICKS[i] ?? 'pyautogui.press("enter")'),
          },
        }
      : one
}

function film(root: string, { rollout, iteration, task, steps }: Trajectory, time: number): LoggedEvent {
  const blobs = openBlobStore(runFolder('clicks', root).blobs)
  const frames = Array.from({ length: steps + 1 }, (_, i) => {
    const field = [50, 56, 220, 16, i === 0 ? 235 : 220] as const
    const text = [56, 60, i > 1 ? 60 : 0, 8, 40] as const
    return { ...blobs.put(greyPng(SIZE, [...WINDOW, field, text])), mediaType: 'image/png', ...SIZE }
  })
  return event('FramesRecorded', { rollout, iteration, task, frames }, time)
}

function chat({ rollout }: Trajectory, time: number): LoggedEvent {
  const price = (id: string) => ({
    id,
    type: 'function',
    function: { name: 'price', arguments: '{"fruit":"plum"}' },
  })
  const tools = ['price', 'stock'].map((name) => ({ type: 'function', function: { name } }))
  const asked = [
    { role: 'system', content: 'Look up what is asked, then answer with the number.' },
    { role: 'user', content: 'How much does one plum cost?' },
  ]
  const called = { role: 'assistant', content: null, tool_calls: [price('c1')] }
  return event(
    'CallsRecorded',
    {
      rollout,
      calls: [
        {
          ...{ kept: 0, messages: JSON.stringify(asked), tools: JSON.stringify(tools) },
          ...{ answer: JSON.stringify(called), model: 'policy-0', finish: 'tool_calls' },
        },
        {
          ...{
            kept: 2,
            messages: JSON.stringify([called, { role: 'tool', tool_call_id: 'c1', content: '1' }]),
            tools: null,
          },
          ...{
            answer: '{"role":"assistant","content":"{\\"number\\":\\"1\\"}"}',
            model: 'policy-0',
            finish: 'stop',
          },
        },
      ],
    },
    time,
  )
}
