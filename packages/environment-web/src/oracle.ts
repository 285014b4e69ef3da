/** How many steps the oracle of a page takes to success, and what each action of an episode has gained. */

import type { Task } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import { createMemo } from './memo.ts'
import type { Player } from './player.ts'
import { givenBy, isSolved, readLeft } from './reading.ts'
import { keyOf, type Shown } from './shown.ts'
import type { Step, StepReader } from './steps.ts'
import { ownTexts } from './written.ts'

/** Most steps of an oracle from any state. */
const MOST_ORACLE_STEPS = 60

type Oracle = {
  /** Steps that the oracle takes to success after some actions, or null if it does not succeed. */
  readonly remaining: (task: Task, actions: readonly string[]) => Promise<number | null>
  /** [actions] steps gained by each action, or null if the oracle does not solve the task. */
  readonly progress: (task: Task, actions: readonly string[]) => Promise<Float32Array | null>
  /**
   * [actions + 1] steps to success before each action and after the last, or null if the oracle does not solve the task. They fall
   * by the progress of each action.
   */
  readonly remainders: (task: Task, actions: readonly string[]) => Promise<Float32Array | null>
}

type OracleOptions = {
  readonly play: Player['play']
  readonly shown: Shown
  /** What a text says behind some steps. */
  readonly stepAfter: (task: Task, before: readonly Step[], text: string) => ReturnType<StepReader>
  /** Size of the numbers to keep; with 0 none is kept. */
  readonly remembered: number
}

export function createOracle({ play, shown, stepAfter, remembered }: OracleOptions): Oracle {
  const { look, known } = shown
  const counted = createMemo<number | null>(remembered, () => 8)

  /** What the steps of an episode are, without those that were refused. */
  async function stepsOf(task: Task, actions: readonly string[]): Promise<Step[]> {
    const steps: Step[] = []
    let given: string | null = null
    for (const action of actions) {
      const step = stepAfter(task, steps, action)
      if ('problem' in step) continue
      const all = [...steps, step]
      if (ownTexts(all, '').length > 0) {
        given ??= givenBy(task, await look(task, [], '', null, {}))
        if (ownTexts(all, given).length > 0) {
          const { refused } = await look(task, all, given, null, {})
          if (refused !== undefined) continue
        }
      }
      steps.push(step)
    }
    return steps
  }

  async function remaining(task: Task, actions: readonly string[]): Promise<number | null> {
    const steps = await stepsOf(task, actions)
    return counted.of(keyOf(task, steps), async () => {
      const reading = known(task, steps)
      if (reading?.done) return isSolved(reading) ? 0 : null
      return readLeft(await play(task, steps, null, { finish: MOST_ORACLE_STEPS }, null))
    })
  }

  /** Remaining steps before each action and after the last. An oracle without memory comes from its own step to where it would have been. */
  async function remainingAll(task: Task, actions: readonly string[]): Promise<(number | null)[]> {
    let after = await remaining(task, actions)
    const left = [after]
    for (let done = actions.length - 1; done >= 0; done--) {
      const before = actions.slice(0, done)
      const reading = known(task, await stepsOf(task, before))
      const isAdvised = reading?.advice === actions[done]
      after =
        isAdvised && after !== null && after < MOST_ORACLE_STEPS ? after + 1 : await remaining(task, before)
      left.unshift(after)
    }
    return left
  }

  async function progress(task: Task, actions: readonly string[]): Promise<Float32Array | null> {
    const left = await remainingAll(task, actions)
    if (left[0] === null) return null
    // From where the oracle does not succeed nothing is left to gain, and what led there has lost a step.
    return Float32Array.from(actions, (_, i) => {
      const [before, after] = [itemAt(left, i), itemAt(left, i + 1)]
      if (before === null) return 0
      return after === null ? -1 : before - after
    })
  }

  async function remainders(task: Task, actions: readonly string[]): Promise<Float32Array | null> {
    const gained = await progress(task, actions)
    let left = await remaining(task, [])
    if (gained === null || left === null) return null
    const all = [left]
    for (const steps of gained) {
      left -= steps
      all.push(left)
    }
    return Float32Array.from(all)
  }

  return { remaining, progress, remainders }
}
