import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chooseInstructions } from '../../../src/actors/policy/choose-instructions.ts'
import { affordable, openInstructionFold, weighingOf } from '../../../src/actors/policy/instructions-fold.ts'
import { proposalMessages, readProposal } from '../../../src/actors/policy/proposal.ts'
import { parseConfig } from '../../../src/config.ts'
import { CATALOGUE } from '../../../src/events/catalogue.ts'
import type { Change } from '../../../src/learning/instructions.ts'

const CONFIG = parseConfig({
  policy: { provider: 'openai', acting: 'free', instructions: {}, expert: { maxCalls: 300 } },
  rewardModel: { mode: 'off' },
  learning: { reward: 'outcome' },
})

/** A run in memory. `outcomeWith` is the outcome of each rollout with these lessons. */
function openRun(outcomeWith: (lessons: readonly string[]) => number | 'broken') {
  const fold = openInstructionFold()
  let lessons: readonly string[] = []

  return {
    fold,
    async version(version: number, propose: (number: number) => Change | string, last = false) {
      fold.see({ type: 'IterationStarted', data: { iteration: version, policyVersion: version - 1 } })
      for (let i = 0; i < 40; i++) {
        const about = { iteration: version, purpose: 'train', task: `t${i % 20}` } as const
        const value = outcomeWith(lessons)
        if (value === 'broken') fold.see({ type: 'RolloutFailed', data: { ...about, cause: 'agent' } })
        else {
          const outcome = { kind: 'scored', value, success: value === 1 } as const
          fold.see({ type: 'TrajectoryCompleted', data: { ...about, steps: 1, outcome } })
        }
      }
      fold.see({ type: 'CallsReserved', data: { role: 'environment', lot: version, calls: 40 } })
      const told: string[] = []
      const chosen = await chooseInstructions({
        ...{
          fold,
          version,
          last,
          weighing: weighingOf(CONFIG.policy.instructions, CONFIG),
          model: 'proposer',
        },
        affords: (state) => affordable(state, CONFIG.policy.expert.maxCalls),
        propose: async (_, number) => propose(number),
        async tell(event) {
          const { schema, wrong } = CATALOGUE[event.type]
          assert.is((wrong as (data: unknown) => string | null)(schema.parse(event.data)), null)
          told.push(
            event.type === 'InstructionsWeighed' ? event.data.verdict : (event.data.problem ?? 'taken'),
          )
          fold.see(event)
        },
      })
      CATALOGUE.InstructionsChosen.schema.parse(chosen)
      fold.see({ type: 'InstructionsChosen', data: chosen })
      lessons = chosen.lessons
      return { chosen, told }
    },
  }
}

const add = (lesson: string): Change => ({ kind: 'add', lesson })

test('a proposal that cannot be taken costs itself only, and the next one is asked for', async () => {
  const run = openRun((lessons) => (lessons.includes('good') ? 1 : 0))
  const answers: readonly (Change | string)[] = ['no JSON', add('good'), add('good'), add('b'), add('c')]
  const { chosen, told } = await run.version(1, (number) => answers[number - 1] ?? 'nothing')
  assert.equal(told, ['no JSON', 'taken', 'a member has these instructions', 'taken', 'taken'])
  assert.equal(chosen.lessons, ['good'])
  const second = await run.version(2, () => add('d'))
  assert.is(second.told[0], 'accepted')
  assert.is(second.chosen.best, 2)
  assert.equal(second.chosen.lessons, ['good', 'b'])
})

test('a change that was weighed is not weighed again, and a proposer without news ends the run', async () => {
  const run = openRun((lessons) => (lessons.length === 0 ? 1 : 0))
  await run.version(1, (number) => add(['bad', 'b', 'c'][number - 1]))
  const { told } = await run.version(2, () => add('bad'))
  assert.is(told[0], 'rejected')
  assert.match(told[1], /^it was tried before: rejected: .*, -100 points$/)
  assert.is(told.length, 21, 'twenty refusals in a row are the last')
  assert.equal((await run.version(3, () => 'more')).told, ['rejected'])
  const { chosen } = await run.version(4, () => 'more')
  assert.is(chosen.ended, 'the proposer has nothing new')
  assert.equal(chosen.lessons, [])
})

test('an agent that breaks on its new instructions has failed with them', async () => {
  const run = openRun((lessons) => (lessons.includes('breaks') ? 'broken' : 1))
  await run.version(1, () => add('breaks'))
  assert.is((await run.version(2, () => 'nothing')).told[0], 'rejected')
})

test('the last version is the best, and the budget leaves room for the last measurement', async () => {
  const run = openRun(() => 1)
  await run.version(1, (number) => add(`${number}`))
  assert.equal((await run.version(2, () => 'nothing', true)).chosen.member, 0)
  const spent = openRun(() => 1)
  for (let version = 1; version <= 7; version++) {
    const { chosen } = await spent.version(version, (number) => add(`${number}`))
    assert.is(chosen.ended, version < 7 ? null : 'the budget of calls is spent')
  }
})

test('hostile answers are refused, and good ones are read in the middle of words', () => {
  const good = '{"change": {"kind": "replace", "lesson": "a", "by": " b "}}'
  assert.equal(readProposal(`Here it is:\n\`\`\`json\n${good}\n\`\`\``), {
    kind: 'replace',
    lesson: 'a',
    by: 'b',
  })
  const hostile: readonly string[] = [
    '',
    'no',
    '}{',
    '{"change": null}',
    '{"change": {"kind": "add"}}',
    '{"change": {"kind": "add", "lesson": 7}}',
    '{"change": {"kind": "add", "lesson": "   "}}',
    '{"change": {"kind": "add", "lesson": "a", "more": 1}}',
    '{"change": {"kind": "add", "lesson": "a"}, "also": {}}',
    '{"__proto__": {"change": 1}}',
    `{"change": {"kind": "add", "lesson": "${'x'.repeat(401)}"}}`,
    `{"change": {"kind": "instructions", "system": "${'x'.repeat(4_001)}"}}`,
    '{"change": {"kind": "add", "lesson": "a\\u001b[2J"}}',
    '{"change": {"kind": "add", "lesson": "a\\u202eb"}}',
    `{"change": ${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
    ' '.repeat(20_001),
  ]
  for (const answer of hostile) assert.type(readProposal(answer), 'string', answer.slice(0, 80))
})

test('a prompt stays short, whatever agents and judges say', () => {
  const long = 'x'.repeat(100_000)
  const example = { task: 't', said: long, value: 0, critiques: [long, long] }
  const { state } = openInstructionFold()
  for (let i = 0; i < 1_000; i++) state.tried.push({ change: add('x'.repeat(400)), result: 'rejected' })
  const messages = proposalMessages({ state, bad: [example, example, example], good: [example] })
  assert.ok(JSON.stringify(messages).length < 40_000)
})

test.run()
