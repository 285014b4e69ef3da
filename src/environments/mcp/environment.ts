/** Tools of MCP servers as an environment: each rollout has servers of its own. */
import type { Config } from '../../config-schema/schema.ts'
import { RlError } from '../../errors.ts'
import type { ToolSpec } from '../../models/port.ts'
import { requireSeal } from '../../platform/guarded-child.ts'
import type { Rng } from '../../random.ts'
import { type SessionEnvironment, sessionEnvironment } from '../sessions/environment.ts'
import { lineTasks, seedTasks } from '../sessions/tasks.ts'
import { anyCall } from '../sessions/tool-actions.ts'
import { recipeOf } from './recipe.ts'
import { loadSdk } from './sdk.ts'
import type { McpSection } from './section.ts'
import { openSession } from './session.ts'

/** @throws RlError `mcp.missing` if the client's package is not installed */
export async function openEnvironment(config: Config, section: McpSection): Promise<SessionEnvironment> {
  const sdk = await loadSdk()
  /** Tools of the last session, for actions by chance. */
  let tools: readonly ToolSpec[] = []
  const options = {
    sdk,
    timeoutMs: section.timeoutSeconds * 1000,
    rewards: section.reward,
    listed: section.acting === 'choices',
    actions: section.actions,
    onTools(specs: readonly ToolSpec[]) {
      tools = specs
    },
  }
  const naming = { environment: 'mcp', goal: section.goal }
  const { source, data } = config.environment
  const environment = sessionEnvironment({
    async tasks(split) {
      if (section.checker?.command) requireSeal(section.checker.command, process.cwd())
      if (source !== 'data') return seedTasks(config, split, naming)
      const tasks = lineTasks(data ?? '', split, naming)
      for (const task of tasks) {
        const { checker } = recipeOf(task, section)
        if (checker?.command) requireSeal(checker.command, process.cwd())
        if (checker || config.learning.reward !== 'outcome') continue
        throw new RlError(`task '${task.id}': nothing judges it, so each outcome is 0`, {
          code: 'mcp.task',
          hint: 'give it a checker, or name one for all as environment.mcp.checker, or let a reward model judge',
        })
      }
      return tasks
    },
    open: (task) => openSession(recipeOf(task, section), options),
    sessions: section.sessions,
    rewards: section.reward,
    deterministic: section.deterministic,
  })
  return { ...environment, written: (random: Rng) => anyCall(tools, random) }
}
