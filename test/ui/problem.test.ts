/** The page of a problem: programs by tests, and the program that passes most of the written ones. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import type { IterationPage } from '../../src/ui/logic/answers.ts'
import type { ProblemPage } from '../../src/ui/logic/problem-page.ts'
import { temporaryFolder } from '../support/run.ts'
import { idOf, madeEvents, writeRun } from './made-run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const made = madeEvents(1)
const rollouts = made.flatMap(({ type, data }) =>
  type === 'TrajectoryCompleted' && data.purpose === 'train' ? [data] : [],
)
const { iteration, slot, task } = rollouts[0]
const group = rollouts.filter((one) => one.slot === slot).sort((a, b) => a.index - b.index)

/** [programs][tests] Verdicts. Test 2 is not valid, program 1 passes most of the others. */
const VOTES = [
  [1, -1, 0, -1],
  [1, 1, 0, 1],
  [-1, -1, 0, 1],
]
const HOSTILE = 'print("<script>alert(1)</script>")'

let next = 900_000
const base = { actor: 'head', cause: null, time: made.at(-1)!.time } as const
const event = (type: string, data: object) =>
  ({ ...base, id: idOf(next++), type, data }) as unknown as LoggedEvent
const none = new Uint8Array()

const events = made.map((one): LoggedEvent => {
  if (one.type === 'StepScored' && one.data.rollout.startsWith(`${iteration}/${slot}/`)) {
    const votes = VOTES[Number(one.data.rollout.split('/')[2])] ?? VOTES[2]
    const judgements = votes.map((score) => ({
      critique: `it ended with ${score}`,
      score,
      tokensI32: none,
      logprobsF32: none,
    }))
    return { ...one, data: { ...one.data, judgements } } as LoggedEvent
  }
  if (one.type === 'TrajectoryCompleted' && one.data.slot === slot)
    return { ...one, data: { ...one.data, actions: one.data.actions.map(() => HOSTILE) } }
  return one
})
const purpose = 'train'
for (const { rollout, index } of group)
  events.push(
    event('ProgramTested', {
      ...{ rollout, iteration, purpose, slot, task },
      passedU8: Uint8Array.from([1, index === 1 ? 1 : 0]),
      verdicts: ['ok', index === 1 ? 'ok' : 'timeout'],
    }),
  )
events.push(event('ProgramFlaky', { rollout: group[1].rollout, iteration, purpose, slot, task, tests: [1] }))
for (const index of [0, 1, 2, 3])
  events.push(
    event('UnitTestWritten', {
      ...{ iteration, purpose, slot, task, index, rewardModelVersion: 1, text: `test ${index}` },
      test: index === 2 ? null : { input: `${index}\n`, output: `${index * 2}\n` },
      novel: index > 0,
      invalid: index === 2 ? 'it has no output' : null,
      tokensI32: none,
      logprobsF32: none,
    }),
  )
writeRun(root, 'run', events)
const path = `/problems/${iteration}/${slot}`

test('programs stand by tests, and the best one passes most of the valid ones', async () => {
  await readPages('/r/run', async ({ get, ask }) => {
    const page = await get<ProblemPage>(path)
    assert.is(page.programs.length, group.length)
    assert.equal(
      page.programs.slice(0, 3).map(({ votes }) => votes),
      VOTES,
    )
    assert.is(page.best, 1)
    assert.equal(
      page.programs.slice(0, 2).map(({ right }) => right),
      [false, true],
    )
    assert.ok(page.programs[1].own[1].flaky)
    assert.is(page.tests[2].invalid, 'it has no output')
    assert.is(page.tests[0].rightPass, 1)
    assert.is(page.tests[1].wrongFail, group.length - 1)
    const { groups } = await get<IterationPage>(`/iterations/${iteration}`)
    assert.equal(
      groups.filter(({ programs }) => programs).map((one) => one.slot),
      [slot],
    )
    const other = rollouts.find((one) => one.slot !== slot)?.slot
    const bare = await ask(`/api/r/run/problems/${iteration}/${other}`)
    assert.is(bare.status, 404)
    assert.is((bare.body as { code: string }).code, 'ui.no-problem')
    assert.is((await ask(`/api/r/run/problems/99/${slot}`)).status, 404)
    const early = await ask(`/api/r/run${path}?at=${made.length}`)
    assert.is(early.status, 404, 'the past knows no later tests')
  })
})

if (hasBrowser())
  test('the matrix is one click from the iteration, and opens a program and a test', async () => {
    await readPages(`/r/run/i/${iteration}`, async (reading) => {
      await browse(reading, async (page) => {
        await page.getByRole('link', { name: `programs by tests of ${slot}` }).click()
        await page.getByRole('heading', { name: `${group[1].rollout} ★` }).waitFor()
        await page.getByText(HOSTILE).waitFor()
        await page.keyboard.press('h')
        await page.getByRole('heading', { name: group[0].rollout }).waitFor()
        await page.getByRole('button', { name: 'test 2, not valid' }).click()
        await page.getByText('not valid: it has no output').waitFor()
        await page.getByRole('link', { name: 'group', exact: true }).click()
        await page.getByRole('link', { name: 'programs by tests' }).click()
        await page.getByRole('heading', { name: 'Written tests' }).waitFor()
      })
    })
  })

test.run()
