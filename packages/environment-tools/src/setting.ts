import { fileURLToPath } from 'node:url'
import { defineSetting, PLAIN_CAUSES, readCalls, rng, seedOf } from 'rlanything/environments'
import { boxed, TOOLS, toolsEnvironment } from './environment.ts'

/** Pages of the almanac. */
const TOWNS = 60

export const setting = defineSetting({
  name: 'tools',
  summary: 'questions that are answered with a calculator and a search over a local text',
  check({ environment }, refuse) {
    if (environment.source !== 'generated')
      refuse('environment.source', 'questions are generated', 'use source generated')
  },
  open: ({ environment: { seed, difficulty, tasks } }) =>
    toolsEnvironment({ seed, difficulty, tasks: tasks ?? 400, towns: TOWNS }),
  acting: {
    kind: 'texts',
    prompt: fileURLToPath(new URL('../prompts/tools-policy.md', import.meta.url)),
    tools: TOOLS,
    invalid(answer) {
      const calls = readCalls(answer)
      if (calls.some((call) => 'unreadable' in call)) return 'a call cannot be read'
      return calls.length === 0 && boxed(answer) === undefined ? 'no call and no answer' : null
    },
    async scripted(_, { recipe }, skill, seed) {
      const right = rng(seedOf(seed, 'scripted')).uniform() < skill
      return `\\boxed{${right ? String(recipe.answer) : '-1'}}`
    },
  },
  judging: { by: 'steps', causes: PLAIN_CAUSES, prompt: 'agent-judge' },
})
