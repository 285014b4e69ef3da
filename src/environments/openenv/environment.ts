/** The environment of an OpenEnv server, as a config asks for it. */
import type { Config } from '../../config-schema/schema.ts'
import { RlError } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import type { Task } from '../port.ts'
import { type SessionEnvironment, sessionEnvironment } from '../sessions/environment.ts'
import { seedNumber } from '../sessions/episode.ts'
import { openRequests, type TaskApi, taskApi } from '../sessions/requests.ts'
import { openAtServer } from '../sessions/server.ts'
import { lineTasks, seedTasks } from '../sessions/tasks.ts'
import { actionReader } from './actions.ts'
import type { OpenEnvSection } from './section.ts'
import { openSession } from './session.ts'

const NAME = 'openenv'

export type OpenEnvEnvironment = SessionEnvironment & {
  readonly url: string
  /** Names of the server's splits. Null if it has no task API. */
  readonly splits: readonly string[] | null
  /** JSON Schema of the actions, or null. */
  readonly schema: unknown
  /** Choices of actions. Empty if there are too many. */
  readonly choices: readonly string[]
}

/** @throws RlError `openenv.actions` if a model shall choose, and there are no choices */
export function openEnvironment(config: Config, section: OpenEnvSection): Promise<OpenEnvEnvironment> {
  return openAtServer(section, (url, end) => environmentAt(url, config, section, end))
}

async function environmentAt(
  url: string,
  config: Config,
  section: OpenEnvSection,
  close: (() => Promise<void>) | undefined,
): Promise<OpenEnvEnvironment> {
  const timeoutMs = section.timeoutSeconds * 1000
  const requests = openRequests(url, timeoutMs)
  const schemas = await requests.get('/schema')
  const schema = isRecord(schemas) ? schemas.action : null
  const actions = actionReader(schema, section.actions)
  const listed = section.acting === 'choices'
  if (listed && actions.choices.length === 0)
    throw new RlError(`the actions of ${url} have too many values to choose from`, {
      code: 'openenv.actions',
      hint: 'list some as environment.openenv.actions, or set environment.openenv.acting=texts',
    })
  const api = config.environment.source === 'generated' ? await taskApi(requests) : null
  const session = { url, timeoutMs, capacityMs: section.capacitySeconds * 1000, actions, listed }
  const environment = sessionEnvironment({
    tasks: (split) => tasksOf(split, config, section, api),
    open: (task, seed) => openSession({ seed: seedNumber(seed), ...startOf(task) }, session),
    sessions: section.sessions,
    rewards: section.reward,
    deterministic: section.deterministic,
    close,
  })
  return {
    ...environment,
    url,
    schema,
    choices: actions.choices,
    written: actions.written,
    splits: api ? [...api.splits] : null,
  }
}

async function tasksOf(
  split: string,
  config: Config,
  { goal }: OpenEnvSection,
  api: TaskApi | null,
): Promise<readonly Task[]> {
  const naming = { environment: NAME, goal }
  const { source, data } = config.environment
  if (source === 'data') return lineTasks(data ?? '', split, naming)
  return api ? api.tasks(split, naming) : seedTasks(config, split, naming)
}

/** Data of a reset: the task's own recipe, without what is no JSON object. */
const startOf = ({ recipe }: Task): Readonly<Record<string, unknown>> => recipe
