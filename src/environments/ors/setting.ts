/** Environments of ORS servers as a setting. `open` loads the code that plays them. */
import { PLAIN_CAUSES } from '../causes.ts'
import { checkServer, checkSessions } from '../sessions/section.ts'
import { invalidCalls } from '../sessions/tool-actions.ts'
import { type Choosing, defineSetting } from '../setting.ts'
import type { Texts } from '../texts.ts'
import type { OrsEnvironment } from './environment.ts'
import { shape } from './section.ts'

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
    checkServer('ors', section, 'http://127.0.0.1:8080', refuse)
    checkSessions('ors', section, refuse)
  },
  async open(config, section) {
    return (await import('./environment.ts')).openEnvironment(config, section)
  },
  runtime: async ({ url }) => `ORS server at ${url}`,
  acting: texts,
  actings: { choices, texts },
  judging: { by: 'steps', causes: PLAIN_CAUSES, prompt: 'agent-judge' },
})
