/** Tools of MCP servers as a setting. `open` loads the code that plays them. */
import { PLAIN_CAUSES } from '../causes.ts'
import type { Environment } from '../port.ts'
import { checkSessions } from '../sessions/section.ts'
import { invalidCalls } from '../sessions/tool-actions.ts'
import { type Choosing, defineSetting, type Refuse } from '../setting.ts'
import type { Texts } from '../texts.ts'
import { type McpSection, shape, wrongChecker, wrongServer } from './section.ts'

const choices: Choosing = { kind: 'choices' }
const texts: Texts = {
  kind: 'texts',
  prompt: 'policy-tools',
  tools: [],
  invalid: (answer) => invalidCalls(answer, null),
}

export const setting = defineSetting<Environment, ReturnType<typeof shape>>({
  name: 'mcp',
  summary: 'tools of MCP servers, with a start and a checker for each task',
  config: shape,
  check({ environment, learning }, refuse, section) {
    const isData = environment.source === 'data'
    checkSection(section, isData, refuse)
    if (!isData && section.checker === null && learning.reward === 'outcome')
      refuse(
        'environment.mcp.checker',
        'nothing judges an episode, so each outcome is 0',
        'name a checker, e.g. {"tool": "read", "equals": "done"}, or let a reward model judge',
      )
  },
  async open(config, section) {
    return (await import('./environment.ts')).openEnvironment(config, section)
  },
  acting: texts,
  actings: { choices, texts },
  judging: { by: 'steps', causes: PLAIN_CAUSES, prompt: 'agent-judge' },
})

function checkSection(section: McpSection, isData: boolean, refuse: Refuse): void {
  const servers = Object.entries(section.servers)
  if (servers.length === 0 && !isData)
    refuse(
      'environment.mcp.servers',
      'there is no server',
      'add --set environment.mcp.servers={"mine": {"command": ["node", "server.mjs"]}}',
    )
  for (const [name, spec] of servers) {
    const wrong = wrongServer(spec)
    if (wrong !== null) refuse(`environment.mcp.servers.${name}`, wrong, 'give it one of both')
  }
  const wrong = section.checker && wrongChecker(section.checker)
  if (wrong) refuse('environment.mcp.checker', wrong, 'e.g. {"tool": "read", "equals": "done"}')
  checkSessions('mcp', section, refuse)
}
