/** Demonstrations for models that act by prompts: what is taught is asked for, and what is then said is read. */
import '../../support/packages.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { coldStartAdapter } from '../../../src/actors/policy/cold-start.ts'
import { releasedLesson } from '../../../src/actors/policy/lessons.ts'
import { actWith, openLocalActor } from '../../../src/actors/policy/local-acting.ts'
import { free, numbered } from '../../../src/actors/policy/prompted-acting.ts'
import type { ActRequest } from '../../../src/actors/rollout/act.ts'
import { type Config, loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import { LORA_TARGETS } from '../../../src/models/local/lora-targets.ts'
import { seedOf } from '../../../src/random.ts'
import { writeTinyChatModel } from '../../support/tiny-chat-model.ts'

const root = mkdtempSync(join(tmpdir(), 'lessons-'))
test.after(() => rmSync(root, { recursive: true }))

/** Updates in which the model is shown boxes: some, so that it knows words at all, or hardly any, so that boxes are to be learned. */
const BEFORE = { free: 30, numbered: 2 } as const

const configOf = (acting: Config['policy']['acting'], base: string) =>
  loadConfig({
    set: [`policy.model=${base}`, `policy.acting=${acting}`, 'policy.lora.rank=8', 'environment.tasks=8'],
  })

for (const acting of ['free', 'numbered'] as const)
  test(`${acting}: a start on demonstrations lowers the loss, and what is sampled after it is read`, async () => {
    const base = join(root, acting)
    await writeTinyChatModel(base, BEFORE[acting])
    const config = configOf(acting, base)
    const opened = await openSetting(config)
    const tasks = await opened.environment.tasks('train')
    const losses: number[] = []
    const start = await coldStartAdapter(
      {
        ...{ base, contextTokens: 512, expertNoise: 0, maxSteps: 3, updates: 80, batch: 4 },
        ...{ learningRate: 1e-2, tokenBudget: 4096, seed: seedOf(1), cacheBytes: 64e6 },
        lora: { rank: 8, alpha: 16, targets: [...LORA_TARGETS] },
      },
      {
        ...{ opened, tasks, cache: join(root, 'cache'), compute: {} },
        report: (line) => losses.push(Number(/loss ([\d.]+)/.exec(line)?.[1])),
      },
      releasedLesson(opened, config.policy),
    )
    assert.is(start.tooLong, 0)
    assert.ok(losses.at(-1)! < 0.75 * losses[0], losses.join(' '))
    const acts: ActRequest[] = []
    for (const task of tasks) {
      const { turn } = await opened.environment.reset(task, { seed: seedOf(1), maxSteps: 10 })
      acts.push({
        ...{
          rollout: task.id,
          task: task.id,
          kind: task.kind,
          goal: task.goal,
          actions: [],
          packedTokens: 0,
        },
        ...{ observations: [turn.observation], admissible: turn.admissible, policyVersion: 0 },
        ...{ seed: seedOf(2), evaluation: false },
      })
    }
    const readShare = async (folder: string) => {
      const actor = await openLocalActor(folder, config, opened)
      try {
        const sampling = { temperature: 0, topP: 1, maxTokens: config.policy.maxTokens }
        const replies = await actWith(actor, acts, () => sampling, new AbortController().signal)
        return replies.filter(({ invalid }) => invalid === null).length / replies.length
      } finally {
        await actor.model.close()
      }
    }
    // A model of this size says commands, though not always one that is possible in the room.
    assert.ok((await readShare(start.folder)) > 0.4)
    if (acting === 'free') assert.is(await readShare(base), 0)
  })

test('starts on the same demonstrations are kept apart by how they are worded', async () => {
  const planOf = async (set: readonly string[]) => {
    const config = loadConfig({ set: ['policy.model=some/folder', 'policy.lora.rank=8', ...set] })
    return releasedLesson(await openSetting(config), config.policy)?.identity
  }
  const plans = [
    await planOf([]),
    await planOf(['policy.acting=free']),
    await planOf(['policy.acting=numbered']),
    await planOf(['policy.acting=free', 'policy.thinking=false']),
    await planOf(['policy.acting=free', 'policy.historySteps=2']),
  ]
  assert.is(new Set(plans.map((plan) => JSON.stringify(plan))).size, plans.length)
  assert.equal(plans[0], {}, 'chosen commands are kept as they were before there were others')
  const texts = ['environment={name: coding}', 'rewardModel.judging=group', 'policy.acting=free']
  assert.is(await planOf(texts), undefined)
})

test('what is written of a command is read as that command', () => {
  const admissible = ['look', 'go to shelf 1', 'go to shelf 10']
  for (const form of [free, numbered])
    for (const command of admissible) {
      const answer = form.write(command, admissible)
      assert.equal(form.read(answer, admissible), { action: command, invalid: null })
    }
})

test.run()
