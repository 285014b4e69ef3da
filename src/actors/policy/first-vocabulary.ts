/** The tokenizer that a model which is trained from scratch will have, without the model. */
import type { Config } from '../../config.ts'
import type { Episode, Task } from '../../environments/port.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import type { TokenizerFiles } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import { seedOf } from '../../random.ts'
import { viewOf } from '../rollout/packing.ts'
import { lessonsOf, textTokenizer } from '../writing/cold-start.ts'
import { demonstrationFaults } from './demonstration-faults.ts'
import { withDemonstrationTasks } from './demonstration-tasks.ts'
import { vocabularyOf } from './vocabulary.ts'

type Shown = { readonly task: Task; readonly episode: Episode }

/**
 * @param shown episodes whose words alone are used: no other vocabulary spells their texts in fewer tokens; null for
 * the words of the cold start
 */
export async function firstTokenizer(
  config: Config,
  opened: OpenSetting,
  { shown }: { readonly shown: readonly Shown[] | null },
): Promise<TokenizerFiles> {
  const { policy, environment, run } = config
  const acting = partOf(opened.setting, 'acting', 'a local policy')
  if (acting.kind === 'texts') return textTokenizer(lessonsOf(opened.setting, acting), opened.environment)
  if (shown !== null) return trainWordTokenizer({ texts: textsOf(opened, shown) })
  const { maxSteps } = environment
  const seed = seedOf(run.seed, 'policy-cold-start')
  const faults = demonstrationFaults(async () => {})
  return withDemonstrationTasks(config, opened, policy.coldStart.demonstrations, async (own) =>
    trainWordTokenizer(await vocabularyOf(own, own.tasks, { seed, maxSteps }, faults)),
  )
}

function textsOf(opened: OpenSetting, shown: readonly Shown[]): string[] {
  const { intro, command } = viewOf(opened)
  return shown.flatMap(({ task, episode: { turn } }) => [
    intro(task.goal, turn.observation),
    ...turn.admissible.map(command),
  ])
}
