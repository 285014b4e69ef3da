/** Rows of a finished run in the form that `rl model sft --data` takes. */
import type { TrajectoryRow } from './trajectory-row.ts'

type Message = { readonly role: 'user' | 'assistant'; readonly content: string }
export type ChatRow = { readonly messages: readonly Message[] }
export type CompletionRow = { readonly prompt: string; readonly completion: string }

/**
 * Successes of training rollouts as chats, for supervised learning between phases of reinforcement (RLoop). Equal chats
 * come once.
 */
export function* demonstrations(rows: Iterable<TrajectoryRow>): Generator<ChatRow> {
  const told = new Set<string>()
  for (const { purpose, success, goal, observations, actions } of rows) {
    if (purpose === 'evaluation' || success !== true) continue
    const messages = actions.flatMap((action, step): Message[] => [
      {
        role: 'user',
        content: step === 0 ? `${goal ?? ''}\n\n${observations[0] ?? ''}` : (observations[step] ?? ''),
      },
      { role: 'assistant', content: action },
    ])
    const text = JSON.stringify(messages)
    if (messages.length === 0 || told.has(text)) continue
    told.add(text)
    yield { messages }
  }
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
