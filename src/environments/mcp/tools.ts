/** Tools of all servers of a session, by the names that a model sees. */
import type { ToolSpec } from '../../models/port.ts'
import { broken } from '../sessions/fault.ts'
import type { Tool, ToolServer } from './server.ts'

/** Ends an episode. It is told like the servers' own tools. */
export const FINISH = 'finish'
const MOST_NAME = 64
const MOST_DESCRIPTION = 4_000

export type NamedTool = { readonly spec: ToolSpec; readonly tool: Tool; readonly server: ToolServer }

/**
 * Returns all tools by their names. If there are several servers, a name begins with that of its server.
 *
 * @throws RlError `environment.answer` if two tools have the same name
 */
export function namedTools(servers: readonly ToolServer[]): ReadonlyMap<string, NamedTool> {
  const all = new Map<string, NamedTool>()
  for (const server of servers)
    for (const tool of server.tools) {
      const prefix = servers.length > 1 || tool.name === FINISH ? `${server.name}_` : ''
      const name = `${prefix}${tool.name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, MOST_NAME)
      if (name === '' || all.has(name)) throw broken(`server '${server.name}' has two tools '${name}'`)
      const description = (tool.description ?? tool.title ?? '').slice(0, MOST_DESCRIPTION)
      all.set(name, { spec: { name, description, parameters: tool.inputSchema }, tool, server })
    }
  return all
}

/** The tool that ends an episode. */
export const FINISHING: ToolSpec = {
  name: FINISH,
  description: 'Ends the task. Call it once the task is done.',
  parameters: {
    type: 'object',
    properties: { answer: { type: 'string', description: 'The answer, if one was asked for.' } },
  },
}
