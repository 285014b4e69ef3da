/** Puts the text of a policy version before the prompts that this run makes itself. */
import type { LogClient } from '../../events/log-client.ts'
import type { GenerateRequest } from '../../models/port.ts'
import { withSystemText } from '../../openai-api/system-text.ts'
import { openVersionTexts } from '../learner/version-texts.ts'
import { readEvents } from '../rollout/log-queries.ts'

/** Returns a request as a version of the policy makes it. */
export type Instructed = (request: GenerateRequest, version: number) => Promise<GenerateRequest>

export const notInstructed: Instructed = async (request) => request

export function instructedBy(log: LogClient): Instructed {
  const texts = openVersionTexts()
  let newest = -1
  let next = 1
  let reading: Promise<void> | null = null

  async function readOn(): Promise<void> {
    const page = await readEvents(log, next, ['InstructionsChosen', 'PolicyUpdated'])
    for (const event of page.events) {
      texts.see(event)
      if (event.type === 'PolicyUpdated') newest = Math.max(newest, event.data.version)
    }
    next = page.next
  }

  return async (request, version) => {
    while (newest < version) {
      const before = next
      reading ??= readOn().finally(() => {
        reading = null
      })
      await reading
      // Nobody may act as a version that is not in the log.
      if (next === before) break
    }
    if (!('messages' in request.prompt)) return request
    const messages = withSystemText(request.prompt.messages, texts.textOf(version))
    return { ...request, prompt: { ...request.prompt, messages } }
  }
}
