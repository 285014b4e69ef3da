/** Rows of a finished run in the form that `rl model sft --data` takes. */
import type { TrajectoryRow } from './trajectory-row.ts'

type Message = { readonly role: 'user' | 'assistant'; readonly content: string }
export type ChatRow = { readonly messages: readonly Message[] }
export type RewardedRow = {
  readonly prompt: readonly Message[]
  readonly completion: readonly Message[]
  readonly reward: number
}
export type CompletionRow = { readonly prompt: string; readonly completion: string }

/**
 * Successes of training rollouts as chats, for supervised learning between phases of reinforcement (RLoop). Equal chats
 * come once.
 */
export function* demonstrations(rows: Iterable<TrajectoryRow>): Generator<ChatRow> {
  const told = new Set<string>()
  for (const row of rows) {
    if (row.purpose === 'evaluation' || row.success !== true) continue
    const messages = chatOf(row)
    const text = JSON.stringify(messages)
    if (messages.length === 0 || told.has(text)) continue
    told.add(text)
    yield { messages }
  }
}

/** Training rollouts with an outcome as chats: the first message, the rest up to the last action, and the outcome in [0, 1]. */
export function* rewardedChats(rows: Iterable<TrajectoryRow>): Generator<RewardedRow> {
  for (const row of rows) {
    if (row.purpose === 'evaluation' || row.outcome === null || row.steps === 0) continue
    const messages = chatOf(row)
    yield { prompt: messages.slice(0, 1), completion: messages.slice(1), reward: row.outcome }
  }
}

/** [2 * steps] An observation and an action in turn. The goal stands before the first one. */
function chatOf({ goal, observations, actions }: TrajectoryRow): Message[] {
  return actions.flatMap((action, step): Message[] => [
    {
      role: 'user',
      content: step === 0 ? `${goal ?? ''}\n\n${observations[0] ?? ''}` : (observations[step] ?? ''),
    },
    { role: 'assistant', content: action },
  ])
}

/** Each critique of a judged step, as the answer to the step (critique fine-tuning). Steps without words are left out. */
export function* critiques(rows: Iterable<TrajectoryRow>): Generator<CompletionRow> {
  for (const { goal, observations, actions, critiques: told, votes } of rows)
    for (const [step, action] of actions.entries())
      for (const [j, critique] of (told?.[step] ?? []).entries()) {
        const vote = votes?.[step]?.[j] ?? 0
        if (critique.trim() === '' || vote === 0) continue
        const seen = [`Task: ${goal ?? ''}`, observations[step], `Action: ${action}`, observations[step + 1]]
        yield { prompt: seen.join('\n'), completion: `${critique}\n\\boxed{${vote}}` }
      }
}
