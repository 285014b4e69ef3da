/** Words for the tokenizer of a small model: the setting's own, else those of some episodes. */

import { judgeWords } from '../../environments/causes.ts'
import type { Task } from '../../environments/port.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { itemAt } from '../../item-at.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { viewOf } from '../rollout/packing.ts'
import type { DemonstrationFaults } from './demonstration-faults.ts'
import { demonstrate } from './demonstrations.ts'

/** Episodes of random commands whose words are read. */
const EPISODES = 256
/** Rarer words are spelled. */
const MOST_WORDS = 4_000

export type Vocabulary = {
  /** A closed list, frequent ones first. */
  readonly words: readonly string[]
  readonly texts?: readonly string[]
  readonly maxWords?: number
}

/** Returns words of goals, commands, observations and judgements. They are the same for the same tasks and seed. */
export async function vocabularyOf(
  opened: OpenSetting,
  tasks: readonly Task[],
  { seed, maxSteps }: { readonly seed: Seed; readonly maxSteps: number },
  faults?: DemonstrationFaults,
): Promise<Vocabulary> {
  const { setting, environment } = opened
  const judged = setting.judging?.by === 'steps' ? judgeWords(setting.judging.causes) : []
  const own = setting.acting?.kind === 'choices' ? setting.acting.words?.(environment) : undefined
  if (own) return { words: [...new Set([...own, ...judged])] }
  const view = viewOf(opened)
  const different = [...new Map(tasks.map((task) => [task.id, task])).values()]
  const played = await demonstrate(environment, different.slice(0, EPISODES), randomly(seed), {
    noise: 1,
    maxSteps,
    seed: seedOf(seed, 'vocabulary'),
    faults,
  })
  const first = faults?.first()
  if (played.length === 0 && first) throw first
  const texts = played.flatMap(({ goal, observations, admissible }) => [
    view.intro(goal, itemAt(observations, 0)),
    ...observations.slice(1).map(view.observation),
    ...admissible.flat().map(view.command),
  ])
  return { words: judged, texts, maxWords: MOST_WORDS }
}

/** An expert that picks every command at random. */
const randomly = (seed: Seed) => () => ({
  advise: ({ admissible }: { readonly admissible: readonly string[] }) => rng(seed).pick(admissible),
  observe() {},
})
