/** Environments of OpenEnv servers as a setting. `open` loads the code that plays them. */
import { PLAIN_CAUSES } from '../causes.ts'
import { checkServer, checkSessions } from '../sessions/section.ts'
import { type Choosing, defineSetting } from '../setting.ts'
import type { Texts } from '../texts.ts'
import type { OpenEnvEnvironment } from './environment.ts'
import { shape } from './section.ts'

const choices: Choosing<OpenEnvEnvironment> = { kind: 'choices' }
const texts: Texts<OpenEnvEnvironment> = {
  kind: 'texts',
  invalid: (answer) => (answer.trim() === '' ? 'no action' : null),
}

export const setting = defineSetting<OpenEnvEnvironment, ReturnType<typeof shape>>({
  name: 'openenv',
  summary: 'environments of an OpenEnv server, played over its WebSocket',
  config: shape,
  check(_, refuse, section) {
    checkServer('openenv', section, 'http://127.0.0.1:8000', refuse)
    checkSessions('openenv', section, refuse)
  },
  async open(config, section) {
    return (await import('./environment.ts')).openEnvironment(config, section)
  },
  runtime: async ({ url }) => `OpenEnv server at ${url}`,
  acting: choices,
  actings: { choices, texts },
  judging: { by: 'steps', causes: PLAIN_CAUSES },
})
