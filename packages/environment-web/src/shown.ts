/** Pages after some actions. Pages are deterministic, so a reading is kept by its task and actions. */
import type { Task } from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import { createMemo } from './memo.ts'
import type { Player, Standing } from './player.ts'
import { type Reading, readReading, type Sinks } from './reading.ts'
import type { Step } from './steps.ts'
import { becomes, isDoubtful, ownTexts, withOtherLetters } from './written.ts'

export type Shown = {
  /**
   * @param given texts that the task and its page at the start tell
   * @param holder holds what the page shows then
   */
  readonly look: (
    task: Task,
    actions: readonly Step[],
    given: string,
    from: Standing | null,
    holder: object,
  ) => Promise<Reading>
  /** Returns the reading if it is kept. */
  readonly known: (task: Task, actions: readonly Step[]) => Reading | undefined
}

/** Key of a state: pages are deterministic. */
export const keyOf = ({ recipe }: Task, actions: readonly Step[]): string => JSON.stringify([recipe, actions])

/** @param remembered characters of readings to keep; with 0 none is kept */
export function createShown({ play }: Pick<Player, 'play'>, remembered: number): Shown {
  const shown = createMemo<Reading>(remembered, sizeOf)
  const look: Shown['look'] = (task, actions, given, from, holder) =>
    shown.of(keyOf(task, actions), async () => {
      const own = ownTexts(actions, given)
      const ask = { oracle: true, sinks: own.length > 0 }
      const { sinks, ...reading } = readReading(await play(task, actions, from, ask, holder))
      if (!sinks || !isDoubtful(sinks, own)) return reading
      const others = await sinksOf(task, withOtherLetters(actions, own))
      const became = becomes(sinks, others, own)
      return became === null
        ? reading
        : { ...reading, refused: `what was written would become ${became} of the page` }
    })

  async function sinksOf(task: Task, actions: readonly Step[]): Promise<Sinks> {
    const none = { programs: [], elements: [], full: false }
    try {
      return readReading(await play(task, actions, null, { sinks: true }, null)).sinks ?? none
    } catch (error) {
      if (error instanceof RlError && error.code === 'web.page') return none
      throw error
    }
  }

  return { look, known: (task, actions) => shown.known(keyOf(task, actions)) }
}

/** Characters of what a page showed. */
const sizeOf = ({ lines, commands }: Reading): number =>
  lines.reduce((sum, [, , name, value]) => sum + name.length + value.length + 40, 0) +
  commands.reduce((sum, command) => sum + command.length, 0)
