/**
 * Acts with models that see. The prompt holds the task and the done actions in words, then the last screens. The whole
 * answer is the action.
 */
import type { Seeing } from '../../environments/setting.ts'
import { doneText, type PromptFile } from '../learner/prompts.ts'
import type { Acting } from './acting.ts'
import { askingActing } from './prompted-acting.ts'

/**
 * Puts the constant text first and the screens last, so that the prompts of an episode share their beginning.
 *
 * @param frames number of screens that a prompt shows
 * @param historySteps number of earlier actions that it tells; null for all
 */
export function seeingActing(
  prompt: PromptFile,
  seeing: Seeing,
  frames: number,
  historySteps: number | null,
): Acting {
  return askingActing(prompt, {
    promptOf: (act, shown) => ({
      messages: prompt.render({
        goal: act.goal,
        history: doneText(act, seeing.brief, shown ?? historySteps),
        frames: (act.frames ?? []).slice(-frames),
      }),
    }),
    read: ({ text }) => ({ action: text, invalid: seeing.invalid(text) }),
    // Columns of tokens hold no images, and sampled tokens cannot be scored again without them.
    pack: () => ({ tokens: null, continues: false }),
  })
}
