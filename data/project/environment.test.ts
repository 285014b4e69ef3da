/** What every environment must keep to: equal seeds give equal episodes, a step changes no value, outcomes lie in [0, 1]. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Episode, Seed } from 'rlanything/environments'
import { setting } from './environment.ts'

const maxSteps = 4
const environment = await setting.open(undefined as never, {} as never)
const tasks = await environment.tasks('train')

/** The turns of an episode that follows the expert. */
async function play(first: Episode): Promise<Episode> {
  const expert = setting.expert?.(environment, first.turn)
  let now = first
  while (!now.turn.done) {
    const action = expert?.advise(now.turn) ?? now.turn.admissible[0]
    assert.ok(now.turn.admissible.includes(action), `${action} may be done`)
    const next = await now.step(action)
    expert?.observe(action, next.turn)
    now = next
  }
  return now
}

for (const task of tasks.slice(0, 20)) {
  const seed: Seed = [1, tasks.indexOf(task)]

  test(`${task.id}: an equal seed gives an equal episode`, async () => {
    const [one, two] = [await environment.reset(task, { seed, maxSteps }), await environment.reset(task, { seed, maxSteps })]
    assert.deepEqual((await play(one)).turn, (await play(two)).turn)
  })

  test(`${task.id}: it ends in time, with an outcome in [0, 1], and its beginning is as it was`, async () => {
    const first = await environment.reset(task, { seed, maxSteps })
    const before = structuredClone(first.turn)
    const last = await play(first)
    assert.ok(last.steps <= maxSteps && last.outcome() >= 0 && last.outcome() <= 1)
    assert.deepEqual(first.turn, before)
  })

  test(`${task.id}: it is plain data, and stays valid when it is rewritten`, async () => {
    assert.deepEqual(JSON.parse(JSON.stringify(task)), task)
    for (const direction of ['harder', 'easier'] as const) {
      const rewrite = await setting.rewriting?.rewrite(environment, {
        ...{ task, direction, seed, accuracy: 0.5, critique: '', taken: [task.id] },
      })
      if (rewrite && 'task' in rewrite)
        assert.ok((await setting.rewriting?.validate(environment, rewrite.task))?.ok, rewrite.task.id)
    }
  })
}
