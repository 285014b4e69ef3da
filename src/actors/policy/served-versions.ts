/**
 * Serves the versions of a local policy to agents outside, in the process that trains them. A version is a model of the
 * name `policy-N`. Its tokens are those that are trained on, so nothing is tokenised again.
 */
import { randomBytes } from 'node:crypto'
import type { LocalModelFace } from '../../models/local/model.ts'
import { createApp } from '../../models/local/server/app.ts'
import type { NamedModel, ServedModels } from '../../models/local/server/served.ts'
import { apiError } from '../../openai-api/errors.ts'
import { listen } from '../../platform/listen.ts'
import type { ResidentModel } from '../learner/resident-model.ts'
import { nameOfVersion, type PolicyServer, versionOfName } from '../rollout/server-service.ts'

export type ServedVersions = {
  readonly address: PolicyServer
  readonly close: () => Promise<void>
}

/** Agents send whole histories. */
const MOST_BODY_BYTES = 16_000_000
const MOST_REQUESTS = 256

/**
 * @param base returns the model in memory, or null as long as none is open
 * @throws RlError `server.listen`
 */
export async function serveVersions(
  resident: ResidentModel<{ readonly model: LocalModelFace }>,
  base: () => LocalModelFace | null,
): Promise<ServedVersions> {
  const token = randomBytes(24).toString('base64url')
  const app = createApp(versions(resident, base), {
    token,
    maxBodyBytes: MOST_BODY_BYTES,
    maxRequests: MOST_REQUESTS,
  })
  const { url, close } = await listen(app, { host: '127.0.0.1', port: 0, unread: 'end' })
  return { address: { url: `${url}/v1`, token }, close }
}

function versions(
  resident: ResidentModel<{ readonly model: LocalModelFace }>,
  base: () => LocalModelFace | null,
): ServedModels {
  const created = Math.floor(Date.now() / 1000)
  const none = () => {
    throw apiError(404, 'this server loads no models: it serves the versions of its run', {
      code: 'not_found',
    })
  }
  function find(name: string): NamedModel {
    const version = versionOfName(name)
    const model = base()
    if (version === null)
      throw apiError(
        404,
        `the model '${name}' does not exist; this server has ${nameOfVersion(0)} and later`,
        {
          param: 'model',
          code: 'model_not_found',
        },
      )
    if (model === null) throw apiError(503, 'the policy is being loaded', { code: 'loading' })
    const sample: LocalModelFace['sample'] = (requests, options) =>
      resident.use(version, (face) => face.model.sample(requests, options))
    return { name, model: { ...model, sample }, root: null, created }
  }
  return {
    list: () => [],
    find,
    begin: () => () => {},
    load: none,
    unload: none,
    close: async () => {},
  }
}
