/** The environment of an ORS server, as a config asks for it. */
import type { Config } from '../../config-schema/schema.ts'
import { RlError } from '../../errors.ts'
import type { ToolSpec } from '../../models/port.ts'
import type { Rng } from '../../random.ts'
import type { Task } from '../port.ts'
import { type SessionEnvironment, sessionEnvironment } from '../sessions/environment.ts'
import { openRequests, type TaskApi, taskApi } from '../sessions/requests.ts'
import { openAtServer } from '../sessions/server.ts'
import { lineTasks } from '../sessions/tasks.ts'
import { anyCall } from '../sessions/tool-actions.ts'
import { tokenOf, variablesOf } from '../sessions/variables.ts'
import { KEY_HINT } from './calls.ts'
import type { OrsSection } from './section.ts'
import { openSession } from './session.ts'

const NAME = 'ors'

export type OrsEnvironment = SessionEnvironment & { readonly url: string }

/** @throws RlError `ors.environment` if the server does not have the environment */
export function openEnvironment(config: Config, section: OrsSection): Promise<OrsEnvironment> {
  return openAtServer(section, (url, end) => environmentAt(url, config, section, end))
}

async function environmentAt(
  url: string,
  config: Config,
  section: OrsSection,
  close: (() => Promise<void>) | undefined,
): Promise<OrsEnvironment> {
  const timeoutMs = section.timeoutSeconds * 1000
  const headers = keyHeaders(section)
  const api = await taskApi(openRequests(url, timeoutMs, headers, KEY_HINT), section.environment)
  if (!api)
    throw new RlError(`${url} has no environment${section.environment ? ` '${section.environment}'` : ''}`, {
      code: 'ors.environment',
      hint: `GET ${url.replace(/\/+$/, '')}/list_environments names them; environment.ors.environment chooses one`,
    })
  /** Tools of the last session, for actions by chance. */
  let tools: readonly ToolSpec[] = []
  const options = {
    ...{ url, headers, timeoutMs, environment: api.name, rewards: section.reward },
    ...{ listed: section.acting === 'choices', actions: section.actions },
    onTools(specs: readonly ToolSpec[]) {
      tools = specs
    },
  }
  const environment = sessionEnvironment({
    tasks: (split) => tasksOf(split, config, section, api),
    open: async ({ recipe }) =>
      openSession(recipe, { ...options, secrets: variablesOf(section.secrets, 'environment.ors.secrets') }),
    sessions: section.sessions,
    rewards: section.reward,
    deterministic: section.deterministic,
    close,
  })
  return { ...environment, url, written: (random: Rng) => anyCall(tools, random) }
}

function keyHeaders({ tokenEnv }: OrsSection): Readonly<Record<string, string>> {
  return tokenEnv === null ? {} : { 'x-api-key': tokenOf(tokenEnv, 'environment.ors.tokenEnv') }
}

async function tasksOf(
  split: string,
  config: Config,
  { goal }: OrsSection,
  api: TaskApi,
): Promise<readonly Task[]> {
  const naming = { environment: NAME, goal }
  const { source, data } = config.environment
  if (source === 'data') return lineTasks(data ?? '', split, naming)
  return api.tasks(split, naming)
}
