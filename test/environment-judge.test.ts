/** The setting's own estimate as the judge: no model, no start, verdicts in the log, and the same run again by replay. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { replay } from '../src/replay/replay.ts'
import { judgePage } from '../src/ui/server/judge.ts'
import type { OpenRun } from '../src/ui/server/open-runs.ts'
import { eventsBelow } from './support/logged.ts'
import { ALL_PARTS, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const JUDGE = ['rewardModel.provider=environment', 'learning.reward=progress']
const SMALL = [
  ...['policy.provider=simulated', 'run.iterations=2', 'run.evaluateEvery=2', 'environment.tasks=6'],
  ...['environment.tasksPerIteration=3', 'environment.rolloutsPerTask=3', 'environment.minGroupSize=2'],
  ...['environment.maxSteps=8', 'evaluation.splits=[in-domain]', 'evaluation.tasks=2'],
]

test('the estimate judges a run: verdicts, causes and progress are logged, and nothing is taught or trained', async () => {
  const run = 'estimated'
  const head = startHead(root, run, [...JUDGE, ...SMALL])
  assert.is(await head.status, 0, head.output())
  assert.not.match(head.output(), /begun from the policy/)

  const scored = eventsOf(run, ['StepScored'])
  assert.ok(scored.length > 20)
  for (const { data } of scored) {
    const [judgement] = data.judgements
    assert.is(judgement?.score, data.progress! > 0.5 ? 1 : -1)
    assert.match(judgement.critique, /^[a-z ]+: \w/)
    assert.is(data.probability, Math.min(1, Math.max(0, data.progress!)))
  }
  assert.ok(eventsOf(run, ['TrajectoryJudged']).some(({ data }) => data.complaints.length > 0))
  const versions = eventsOf(run, ['RewardModelUpdated']).map(({ data }) => data)
  assert.is(versions.length, 3)
  assert.ok(versions.every(({ checkpoint }) => checkpoint === null))

  const log = openLogReader(runFolder(run, root).log)
  try {
    const { difference } = replay(log)
    assert.is(difference, null, JSON.stringify(difference))
    const run = { log, figures: { read: () => null } } as unknown as OpenRun
    assert.ok(judgePage(run, log.head().position, {}).isEstimate, 'the page says whose verdicts they are')
  } finally {
    log.close()
  }
})

test('an oracle pays by the true state: what it logs sums to the best plan where the goal is reached', async () => {
  const run = 'oracle'
  const head = startHead(root, run, [...JUDGE, ...SMALL, 'run.iterations=1', 'rewardModel.oracle=true'])
  assert.is(await head.status, 0, head.output())
  const gained = eventsOf(run, ['StepScored']).map(({ data }) => data.progress)
  assert.ok(gained.length > 20)
  assert.ok(
    gained.every((progress) => Number.isInteger(progress)),
    'plans have whole lengths',
  )
})

test('a stated share of verdicts is wrong: by chance, or always those on a command', async () => {
  for (const by of ['step', 'command']) {
    const head = startHead(root, by, [
      ...['rewardModel.provider=environment', 'learning.reward=integrated', ...SMALL, 'run.iterations=1'],
      `rewardModel.errors={share: 0.3, by: ${by}}`,
    ])
    assert.is(await head.status, 0, head.output())
    const actions = new Map(
      eventsOf(by, ['TrajectoryCompleted']).map(({ data }) => [data.rollout, data.actions] as const),
    )
    const wrong = new Map<string, boolean[]>()
    for (const { data } of eventsOf(by, ['StepScored'])) {
      const [verdict] = data.judgements
      assert.is(data.probability, verdict!.score === 1 ? 1 : 0)
      const command = actions.get(data.rollout)![data.step]!
      const isWrong = (verdict!.score === 1) !== data.progress! > 0.5
      wrong.set(command, [...(wrong.get(command) ?? []), isWrong])
    }
    const all = [...wrong.values()].flat()
    const share = all.filter(Boolean).length / all.length
    assert.ok(share > 0.1 && share < 0.5, `${share} of ${all.length} are wrong`)
    const split = [...wrong.values()].filter((each) => new Set(each).size > 1).length
    assert.is(split > 0, by === 'step', `${split} commands are judged wrong now and then`)
  }
})

async function dryRun(...set: readonly string[]) {
  const words = set.flatMap((key) => ['--set', key])
  const started = startProcess(['src/main.ts', '--role', 'head', '--dry-run', ...ALL_PARTS, ...words], {
    RL_RUNS: root,
  })
  return { status: await started.status, output: started.output() }
}

test("a user's setting brings progress; one without it is refused by its name before anything starts", async () => {
  const nim = readFileSync('test/environments/nim.ts', 'utf8')
  writeFileSync(join(root, 'nim.ts'), nim)
  writeFileSync(join(root, 'blind.ts'), `${nim}\ndelete (setting as { progress?: unknown }).progress\n`)
  const small = [
    'rewardModel.provider=environment',
    'policy.coldStart.demonstrations=24',
    'adaptation.enabled=false',
  ]
  const played = await dryRun(`environment.module=${join(root, 'nim.ts')}`, ...small)
  assert.is(played.status, 0, played.output)
  assert.match(played.output, /reward model +the setting's own estimate/)
  const refused = await dryRun(`environment.module=${join(root, 'blind.ts')}`, ...small)
  assert.is(refused.status, 1)
  assert.match(refused.output, /rewardModel\.provider: the setting 'nim' has no progress/)
})

test('keys of a control are refused where nobody would read them', async () => {
  const oracle = await dryRun('rewardModel.oracle=true')
  assert.is(oracle.status, 1)
  assert.match(oracle.output, /rewardModel\.oracle: rewardModel\.provider 'local' knows no true state/)
  const errors = await dryRun('rewardModel.errors={share: 0.2, by: step}')
  assert.is(errors.status, 1)
  assert.match(errors.output, /rewardModel\.errors: rewardModel\.provider 'local' has errors of its own/)
  const unread = await dryRun(
    'rewardModel.provider=environment',
    'rewardModel.errors={share: 0.2, by: step}',
    'learning.reward=progress',
  )
  assert.is(unread.status, 1)
  assert.match(
    unread.output,
    /rewardModel\.errors: nobody reads the verdicts: .* learning\.reward 'progress'/,
  )
  const skills = await dryRun('adaptation.skills=true')
  assert.is(skills.status, 1)
  assert.match(skills.output, /adaptation\.skills: .* rewriter language-model/)
  const choice = await dryRun('environment.name=web', 'adaptation.choice=random')
  assert.is(choice.status, 1)
  assert.match(choice.output, /adaptation\.choice: the rules of the setting 'web' do not follow it/)
})

test('the estimate acts for nobody', async () => {
  const { status, output } = await dryRun('policy.provider=environment')
  assert.is(status, 1)
  assert.match(output, /policy\.provider: 'environment' judges steps, and does nothing else/)
})

test.run()
