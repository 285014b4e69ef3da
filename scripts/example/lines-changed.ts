/** How many lines an agent changes before it can be trained. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const AGENTS = 'examples/agents'

/** Folders of examples/agents with an agent, its file, and the file as it was before. */
export const AGENT_FILES: Readonly<Record<string, { readonly agent: string; readonly before: string }>> =
  Object.fromEntries(
    ['openai', 'ai-sdk', 'openai-agents', 'langgraph', 'mastra', 'anthropic', 'python'].map((name) => {
      const end = name === 'python' ? 'py' : 'ts'
      return [name, { agent: `${name}/agent.${end}`, before: `${name}/before.${end}` }]
    }),
  )

export type Change = { readonly removed: readonly string[]; readonly added: readonly string[] }

/** Returns the lines that differ. Lines without a word do not count. */
export function changeOf(name: string): Change {
  const { agent, before } = AGENT_FILES[name]
  return difference(linesOf(join(AGENTS, before)), linesOf(join(AGENTS, agent)))
}

/** Returns how many lines a person has to touch. A line that is rewritten counts once. */
export function linesChanged({ removed, added }: Change): number {
  return Math.max(removed.length, added.length)
}

function linesOf(path: string): readonly string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
}

/** By the longest common subsequence, as `diff` does. */
function difference(before: readonly string[], after: readonly string[]): Change {
  const common = Array.from({ length: before.length + 1 }, () => new Int32Array(after.length + 1))
  for (let i = before.length - 1; i >= 0; i--)
    for (let k = after.length - 1; k >= 0; k--)
      common[i][k] =
        before[i] === after[k] ? common[i + 1][k + 1] + 1 : Math.max(common[i + 1][k], common[i][k + 1])
  const [removed, added]: [string[], string[]] = [[], []]
  for (let [i, k] = [0, 0]; i < before.length || k < after.length; )
    if (before[i] === after[k] && i < before.length) [i, k] = [i + 1, k + 1]
    else if (k < after.length && (i === before.length || common[i][k + 1] >= common[i + 1][k]))
      added.push(after[k++])
    else removed.push(before[i++])
  return { removed, added }
}
