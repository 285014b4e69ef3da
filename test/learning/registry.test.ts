import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { advantages } from '../../src/learning/advantage.ts'
import { ADVANTAGES } from '../../src/learning/advantage-rules.ts'
import { loadRules, rulesOf, userRulesOf } from '../../src/learning/registry.ts'
import { replay } from '../../src/replay/replay.ts'
import { rescore } from '../../src/replay/rescore.ts'
import { ofType } from '../../src/replay/why.ts'
import { smallConfig } from '../actors/loop.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { recordLoop } from '../replay/record.ts'
import { temporaryFolder } from '../support/run.ts'

const MODULE = './test/fixtures/modules/rules.ts'
const MINE = {
  learning: { module: MODULE, reward: 'no-repeats', advantage: 'centred', filter: 'at-least-two-wins' },
  environment: { sampler: 'frontier' },
  adaptation: { rule: 'ever-solved' },
}

async function refusal(work: () => unknown): Promise<RlError> {
  try {
    await work()
  } catch (error) {
    assert.instance(error, RlError)
    return error as RlError
  }
  throw new Error('it was taken')
}

test("ours are known without a module, a user's once theirs is loaded", async () => {
  const ours = smallConfig()
  await loadRules(ours)
  assert.is(rulesOf(ours).advantage.name, 'task')
  assert.equal(userRulesOf(ours), [])

  const mine = smallConfig(MINE)
  await loadRules(mine)
  const notes = userRulesOf(mine)
  assert.equal(
    notes.map(({ kind, name, version }) => `${kind} ${name} ${version}`),
    [
      'stepReward no-repeats 1',
      'advantage centred 3',
      'groupFilter at-least-two-wins 1',
      'taskSampler frontier 1',
      'acceptance ever-solved 1',
    ],
  )
  assert.ok(notes.every(({ digest }) => /^[0-9a-f]{64}$/.test(digest)))
})

test('an unknown rule is refused with its key and the rules that there are', async () => {
  const typo = await refusal(() => smallConfig({ learning: { advantage: 'taks' } }))
  assert.match(typo.message, /learning\.advantage: there is no rule 'taks'/)
  assert.match(typo.hint ?? '', /step-index, task, leave-one-out, separate/)
  const theirs = await refusal(() => loadRules(smallConfig({ learning: { module: MODULE, filter: 'none' } })))
  assert.match(theirs.message, /learning\.filter: there is no rule 'none'/)
  assert.match(theirs.hint ?? '', /at-least-two-wins/)
})

test('a module with a mistake is refused with file and field', async () => {
  const folder = temporaryFolder()
  const cases: readonly (readonly [string, RegExp])[] = [
    ['export const nothing = 1', /exports no rules/],
    ['export const advantages = {}', /advantages: is no list/],
    [
      'export const stepRewards = [{ version: 1, parts() {}, weights() {} }]',
      /stepRewards: rule 0 has no name/,
    ],
    [
      "export const acceptanceRules = [{ name: 'x', version: 1 }]",
      /acceptanceRules: 'x' has no function `decide`/,
    ],
    ["export const taskSamplers = [{ name: 'x', choose() {} }]", /taskSamplers: 'x' has no version/],
    [
      'export const stepRewards = [{ name: "x", version: 1, parts() {} }]',
      /stepRewards: 'x' has no function `weights`/,
    ],
    [
      'export const stepReward = [{ name: "x", version: 1, parts() {}, weights() {} }]; export const advantages = []',
      /stepReward: nothing reads an export of this name/,
    ],
    [
      'export const groupFilter = { name: "x", version: 1, leavesOut() {} }; export const advantages = []',
      /groupFilter: nothing reads an export of this name/,
    ],
    [
      "export const advantages = [{ name: 'task', version: 1, advantages() {} }]",
      /'task' is the name of a built-in rule/,
    ],
  ]
  for (const [i, [source, message]] of cases.entries()) {
    const file = join(folder, `rules-${i}.mjs`)
    writeFileSync(file, source)
    const { message: told } = await refusal(() => loadRules(smallConfig({ learning: { module: file } })))
    assert.match(told, message)
    assert.ok(told.includes(file), told)
  }
})

test('verdicts and true progress are told by a reward model: without one such rewards are refused', () => {
  for (const reward of ['integrated', 'progress'])
    assert.throws(
      () => loadConfig({ set: ['rewardModel.mode=off', `learning.reward=${reward}`] }),
      /needs verdicts, and rewardModel\.mode is off|'off' measures no progress/,
    )
  assert.is(loadConfig({ set: ['rewardModel.mode=off', 'learning.reward=outcome'] }).rewardModel.mode, 'off')
})

test('what a rule returns is checked', async () => {
  const broken = { ...ADVANTAGES[0], name: 'short', advantages: () => [[1]] }
  const group = [{ id: 'a', task: 'q', outcome: 1 as const, scores: [0, 0] }]
  const options = { weights: { outcome: 1, step: 1 }, single: 'zero', stdFloor: 0 } as const
  const error = await refusal(() => advantages(group, broken, options))
  assert.match(error.message, /the advantage rule 'short' gave rollout a of 2 steps 1 values/)
})

test("what a user's rule returns is checked, and named with its file and field", async () => {
  const file = join(temporaryFolder(), 'loose.mjs')
  writeFileSync(
    file,
    `const version = 1
     export const stepRewards = [{ name: 'later', version, parts: async () => ({}), weights: () => ({}) }]
     export const advantages = [{ name: 'none', version, advantages() {} }]
     export const groupFilters = [{ name: 'no', version, leavesOut: ({ n }) => (n > 1 ? undefined : false) }]
     export const taskSamplers = [{ name: 'later', version, choose: async () => [] }]
     class Rule { #accepted = 'yes'; version = 1; name = 'yes'; decide() { return { accepted: this.#accepted, reason: '' } } }
     export const acceptanceRules = [new Rule()]`,
  )
  const config = smallConfig({
    learning: { module: file, reward: 'later', advantage: 'none', filter: 'no' },
    environment: { sampler: 'later' },
    adaptation: { rule: 'yes' },
  })
  await loadRules(config)
  const { stepReward, advantage, groupFilter, taskSampler, acceptance } = rulesOf(config)
  const tally = (n: number) => ({ successes: 0, n, outcomes: [] })
  const any = {} as never
  const cases: readonly (readonly [() => unknown, string])[] = [
    [
      () => stepReward.parts(any, any),
      "stepRewards: 'later': parts(): expected a value at once, got a promise",
    ],
    [() => advantage.advantages(any, any, any, []), "advantages: 'none': advantages(): expected a list"],
    [
      () => groupFilter.leavesOut?.(tally(2), any),
      "groupFilters: 'no': leavesOut(): Invalid input: expected string",
    ],
    [
      () => groupFilter.leavesOut?.(tally(1), any),
      "groupFilters: 'no': leavesOut(): Invalid input: expected string",
    ],
    [
      () => taskSampler.choose([], any),
      "taskSamplers: 'later': choose(): expected a value at once, got a promise",
    ],
    [
      () => acceptance.decide(any, any),
      "acceptanceRules: 'yes': decide().accepted: Invalid input: expected boolean",
    ],
  ]
  for (const [ask, told] of cases) {
    const { code, message } = await refusal(ask)
    assert.is(code, 'rule.result')
    assert.ok(message.startsWith(`${file}: ${told}`), message)
  }
})

test("a user's rule that throws is named with file, line and question; what is out of range is refused", async () => {
  const file = join(temporaryFolder(), 'wild.mjs')
  writeFileSync(
    file,
    `const version = 1
     const parts = ({ value }) => ({ outcome: value === 1 ? 50 : value, steps: value === 1 ? [] : [0, value === 0 ? NaN : 2] })
     export const strict = { name: 'wild', version, parts, weights: () => ({ outcome: 1 }) }
     export const stepRewards = [strict]
     export const advantages = [{ name: 'boom', version, advantages: (group) => group.nobody.id }]`,
  )
  const config = smallConfig({ learning: { module: file, reward: 'wild', advantage: 'boom' } })
  await loadRules(config)
  const { stepReward, advantage } = rulesOf(config)
  const told = async (work: () => unknown) => (await refusal(work)).message
  const rollout = (value: number) => ({ id: '1/train-0/3', value }) as never
  const any = {} as never
  assert.match(
    await told(() => stepReward.parts(rollout(1), any)),
    /'wild': parts\(\)\.outcome: .*<=1 \(rollout 1\/train-0\/3\)/,
  )
  assert.match(await told(() => stepReward.parts(rollout(0), any)), /parts\(\)\.steps\[1\]: .*got NaN/)
  assert.match(
    await told(() => stepReward.parts(rollout(0.5), any)),
    /parts\(\)\.steps\[1\]: .*from -1 to 1, and got 2/,
  )
  assert.match(await told(() => stepReward.weights(any)), /weights\(\)\.step: .*expected number/)
  assert.match(
    await told(() => advantage.advantages([{ id: 'a', task: 'q' }] as never, any, any, [])),
    /wild\.mjs:5:\d+: advantages: 'boom': advantages\(\) failed: TypeError.*\(task 'q'\)/,
  )
})

test("a run under a user's rules replays, and differs from one under ours", async () => {
  const mine = smallConfig({ ...MINE, run: { iterations: 6, evaluateEvery: 6 } })
  await loadRules(mine)
  const folder = temporaryFolder()
  const log = recordLoop(folder, 'mine', mine)
  const replayed = replay(log)
  assert.is(replayed.difference, null)
  assert.ok(ofType(log, 'TaskAccepted').every(({ data }) => data.reason === 'it can be solved'))
  assert.ok(ofType(log, 'TaskAccepted').length > 0)
  log.close()
})

test('a recorded run is rescored under rules that it never saw', async () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  await loadRules(smallConfig(MINE))
  const set = [`learning.module=${MODULE}`, 'learning.reward=no-repeats', 'adaptation.rule=ever-solved']
  const { after, before, flipped } = rescore(log, set)
  assert.ok(after.accepted >= before.accepted)
  assert.ok(flipped.every(({ after }) => ['it can be solved', 'nobody solved it'].includes(after.reason)))
  assert.not.equal(after.trainedSteps, before.trainedSteps)
  log.close()
})

test('options of rules are checked by the rule, and options that nothing reads are refused', async () => {
  const cases: readonly (readonly [object, RegExp, RegExp])[] = [
    [
      { reward: 'gated', options: { gated: { delta: 2 } } },
      /learning\.options\.gated\.delta: Too big/,
      /delta/,
    ],
    [
      { reward: 'gated', options: { gated: { dleta: 1 } } },
      /learning\.options\.gated\.dleta: the rule has no such option/,
      /has the options delta/,
    ],
    [
      { options: { gated: { delta: 1 } } },
      /learning\.options\.gated: the config names no rule 'gated'/,
      /these have options: none/,
    ],
    [
      { reward: 'gated', options: { gatde: { delta: 1 } } },
      /learning\.options\.gatde/,
      /did you mean 'gated'/,
    ],
    [{ options: { task: {} } }, /learning\.options\.task: the rule 'task' has no options/, /leave them out/],
    [
      { weights: ['three-sigma', 'three-sigma'] },
      /learning\.weights: 'three-sigma' stands there twice/,
      /once/,
    ],
    [{ rollouts: ['truncatd'] }, /learning\.rollouts: there is no rule 'truncatd'/, /there are truncated/],
  ]
  for (const [learning, message, hint] of cases) {
    const wrong = await refusal(() => smallConfig({ learning: learning as never }))
    assert.match(wrong.message, message)
    assert.match(wrong.hint ?? '', hint)
  }
  const config = loadConfig({
    set: ['learning.reward=gated', 'learning.options.gated.delta=0.5', 'learning.weights=[negative-scale]'],
  })
  const { stepReward, stepWeights } = rulesOf(config)
  assert.is(stepReward.name, 'gated')
  assert.equal(
    stepWeights.map(({ name }) => name),
    ['negative-scale'],
  )
})

test("a user's rules of the new kinds are loaded, tuned and checked as all others", async () => {
  const file = join(temporaryFolder(), 'kinds.mjs')
  writeFileSync(
    file,
    `import { z } from '${import.meta.resolve('zod')}'
     const version = 1
     const half = (share) => ({ name: 'half', version, keep: (group) => group.map(() => share) })
     export const rolloutFilters = [{ ...half(0.5), options: z.strictObject({ share: z.number().default(0.5) }), tuned: ({ share = 0.5 }) => half(share) }]
     export const stepWeights = [{ name: 'negative', version, factors: (batch) => batch.map(() => [-1]) }]
     export const groupFilters = [{ name: 'all', version, weigh: (groups) => groups.map(() => ({ weight: 2, why: null })) }]`,
  )
  const config = smallConfig({
    learning: {
      ...{ module: file, filter: 'all', rollouts: ['half'], weights: ['negative'] },
      options: { half: { share: 3 } },
    },
  })
  await loadRules(config)
  const { rolloutFilters, stepWeights, groupFilter } = rulesOf(config)
  const any = {} as never
  assert.match(
    (await refusal(() => rolloutFilters[0].keep([any]))).message,
    /rolloutFilters: 'half': keep\(\)\[0\]: expected a number from 0 to 1, and got 3/,
  )
  assert.match(
    (await refusal(() => stepWeights[0].factors([any]))).message,
    /stepWeights: 'negative': factors\(\)\[0\]\[0\]: .* and got -1/,
  )
  assert.equal(groupFilter.weigh?.([any], any, null), [{ weight: 2, why: null }])
  assert.equal(
    userRulesOf(config).map(({ kind, name }) => `${kind} ${name}`),
    ['groupFilter all', 'rolloutFilter half', 'stepWeight negative'],
  )
})

test.run()
