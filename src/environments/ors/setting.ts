/** Environments of ORS servers as a setting. `open` loads the code that plays them. */
import { PLAIN_CAUSES } from '../causes.ts'
import { checkSessions } from '../sessions/section.ts'
import { invalidCalls } from '../sessions/tool-actions.ts'
import { type Choosing, defineSetting, type Refuse } from '../setting.ts'
import type { Texts } from '../texts.ts'
import type { OrsEnvironment } from './environment.ts'
import { type OrsSection, shape } from './section.ts'

const choices: Choosing<OrsEnvironment> = { kind: 'choices' }
const texts: Texts<OrsEnvironment> = {
  kind: 'texts',
  prompt: 'policy-tools',
  tools: [],
  invalid: (answer) => invalidCalls(answer, 'no call'),
}

export const setting = defineSetting<OrsEnvironment, ReturnType<typeof shape>>({
  name: 'ors',
  summary: 'environments of an ORS server (OpenReward), whose tools pay',
  config: shape,
  check(_, refuse, section) {
    checkSection(section, refuse)
  },
  async open(config, section) {
    return (await import('./environment.ts')).openEnvironment(config, section)
  },
  runtime: async ({ url }) => `ORS server at ${url}`,
  acting: texts,
  actings: { choices, texts },
  judging: { by: 'steps', causes: PLAIN_CAUSES, prompt: 'agent-judge' },
})

function checkSection(section: OrsSection, refuse: Refuse): void {
  if (section.url === null && section.command.length === 0)
    refuse(
      'environment.ors.url',
      'there is no server to play at',
      'add --set environment.ors.url=http://127.0.0.1:8080, or environment.ors.command',
    )
  checkSessions('ors', section, refuse)
}
