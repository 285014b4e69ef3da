/** Environments of Gymnasium, BrowserGym, TextWorld and ScienceWorld as a setting. `open` loads the code that plays them. */
import { PLAIN_CAUSES } from '../causes.ts'
import type { Environment } from '../port.ts'
import { checkSessions } from '../sessions/section.ts'
import { type Choosing, defineSetting } from '../setting.ts'
import type { Texts } from '../texts.ts'
import { shape } from './section.ts'

const choices: Choosing = { kind: 'choices' }
const texts: Texts = { kind: 'texts', invalid: (answer) => (answer.trim() === '' ? 'no action' : null) }

export const setting = defineSetting<Environment, ReturnType<typeof shape>>({
  name: 'gym',
  summary: 'environments of Gymnasium, BrowserGym, TextWorld and ScienceWorld, played by a process of Python',
  config: shape,
  check(_, refuse, section) {
    checkSessions('gym', section, refuse)
  },
  async open(config, section) {
    return (await import('./environment.ts')).openEnvironment(config, section)
  },
  acting: choices,
  actings: { choices, texts },
  judging: { by: 'steps', causes: PLAIN_CAUSES },
})
