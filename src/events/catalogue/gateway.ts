import { z } from 'zod'
import { count, define, name } from './definition.ts'

export const gatewayEvents = {
  RolloutClaimed: define({
    v: 1,
    by: ['environment-worker'],
    summary: 'An agent outside took up a rollout through the gateway.',
    schema: z.strictObject({
      rollout: name,
      task: name,
      /** Name that the agent gives itself. */
      agent: z.string().max(256),
      /** Time in which the agent must tell the outcome. */
      deadlineSeconds: z.number().positive(),
    }),
    key: () => null,
    reproducible: false,
  }),
  StepNoted: define({
    v: 1,
    by: ['environment-worker'],
    summary:
      'Somebody told the gateway something of one call of an agent, e.g. a thumb or a correction. A score counts as the verdict on that step.',
    schema: z.strictObject({
      rollout: name,
      /** Index of the call. */
      step: count,
      /** In [-1, 1]: its sign is the verdict. Null for a text alone. */
      score: z.number().min(-1).max(1).nullable(),
      text: z.string().max(4_000).nullable(),
    }),
    wrong: ({ score, text }) =>
      score === null && text === null ? 'score: there is neither a score nor a text' : null,
    key: () => null,
    reproducible: false,
  }),
  CallsRecorded: define({
    v: 1,
    by: ['environment-worker'],
    summary:
      "An agent's calls of the model in one rollout, word for word. One call is one step of the trajectory.",
    schema: z.strictObject({
      rollout: name,
      /** Calls in the order of their answers, as JSON texts. */
      calls: z.array(
        z.strictObject({
          /**
           * Number of messages of the previous call that this one begins with. The other messages are in `messages`.
           */
          kept: count,
          messages: z.string(),
          /**
           * The tools that were offered, if they differ from the previous call's. Null if they are the same, or none. An empty list
           * follows tools that are no longer offered.
           */
          tools: z.string().nullable(),
          /** The answer: content, tool calls and all else that the model said. */
          answer: z.string(),
          model: z.string(),
          finish: z.string(),
        }),
      ),
    }),
    wrong: ({ calls }) => callsWrong(calls),
    key: (data) => `CallsRecorded/${data.rollout}`,
    reproducible: false,
  }),
}

type Call = {
  readonly kept: number
  readonly messages: string
  readonly tools: string | null
  readonly answer: string
}

/** Checks that a call keeps no more messages than the previous call has. */
function callsWrong(calls: readonly Call[]): string | null {
  let shown = 0
  for (const [at, { kept, messages, tools, answer }] of calls.entries()) {
    const news = readJson(messages)
    if (!Array.isArray(news)) return `calls.${at}.messages: it is no list in JSON`
    if (readJson(answer) === undefined) return `calls.${at}.answer: it is no JSON`
    if (tools !== null && readJson(tools) === undefined) return `calls.${at}.tools: it is no JSON`
    if (kept > shown) return `calls.${at}.kept: ${kept} of ${shown} messages`
    shown = kept + news.length
  }
  return null
}

/** Returns undefined if the text is not JSON. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
