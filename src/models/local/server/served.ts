/** The models of a server by name: its own, and those that clients loaded. */
import { existsSync } from 'node:fs'
import { explain } from '../../../errors.ts'
import { apiError } from '../../../openai-api/errors.ts'
import type { LocalModelFace } from '../model.ts'

export type LoadingOptions = {
  /** Opens a model folder, or one with an adapter. */
  readonly open: (folder: string) => Promise<LocalModelFace>
  /** Most models in addition to the server's own. */
  readonly most: number
}

export type NamedModel = {
  readonly name: string
  readonly model: LocalModelFace
  /** The model's folder. Null for the server's own model. */
  readonly root: string | null
  readonly created: number
}

export type ServedModels = {
  readonly list: () => readonly NamedModel[]
  /** Finds a model. Throws ApiError 404 if there is none. */
  readonly find: (name: string) => NamedModel
  /** Counts a request in progress. Returns the function that ends it. An unloaded model is closed after its last request. */
  readonly begin: (served: NamedModel) => () => void
  /** Errors: ApiError 400 if the name was used before or the folder is no model, 404 if there is no folder. */
  readonly load: (name: string, folder: string) => Promise<void>
  /** Unloads a model. Throws ApiError 404 if there is none. */
  readonly unload: (name: string) => void
  /** Closes all loaded models. */
  readonly close: () => Promise<void>
}

export function servedModels(
  name: string,
  own: LocalModelFace,
  loading: LoadingOptions | null,
): ServedModels {
  const now = () => Math.floor(Date.now() / 1000)
  const models = new Map<string, NamedModel>([[name, { name, model: own, root: null, created: now() }]])
  /** Names of all models so far, also of unloaded ones. So a name never stands for other weights. */
  const names = new Set<string>([name])
  const opening = new Map<string, Promise<void>>()
  const inWork = new Map<NamedModel, number>()
  const leaving = new Set<NamedModel>()

  async function open(asked: string, folder: string, model: LoadingOptions['open']): Promise<void> {
    try {
      models.set(asked, { name: asked, model: await model(folder), root: folder, created: now() })
      names.add(asked)
    } catch (error) {
      throw apiError(400, `${folder} cannot be loaded: ${explain(error)}`, { param: 'lora_path' })
    }
  }

  function closeIfIdle(served: NamedModel): void {
    if (!leaving.has(served) || (inWork.get(served) ?? 0) > 0) return
    leaving.delete(served)
    void served.model.close().catch(() => {})
  }

  return {
    list: () => [...models.values()],
    find(asked) {
      const served = models.get(asked)
      if (served) return served
      const known = [...models.keys()].map((one) => `'${one}'`).join(', ')
      throw apiError(404, `the model '${asked}' does not exist; this server has ${known}`, {
        param: 'model',
        code: 'model_not_found',
      })
    },
    begin(served) {
      inWork.set(served, (inWork.get(served) ?? 0) + 1)
      return function done() {
        inWork.set(served, inWork.get(served)! - 1)
        closeIfIdle(served)
      }
    },
    async load(asked, folder) {
      if (loading === null)
        throw apiError(404, 'this server loads no models at run time: start it with --allow-loading', {
          code: 'not_found',
        })
      // A client that asks again, e.g. a restarted head, gets the result of the same loading.
      if (opening.has(asked)) await opening.get(asked)
      if (names.has(asked))
        throw apiError(400, `The lora adapter '${asked}' has already been loaded.`, { param: 'lora_name' })
      if (models.size + opening.size > loading.most)
        throw apiError(400, `${loading.most} models are loaded already: unload one`, {
          code: 'too_many_models',
        })
      if (!existsSync(folder))
        throw apiError(404, `No adapter found for ${folder}`, { param: 'lora_path', code: 'not_found' })
      const opened = open(asked, folder, loading.open).finally(() => opening.delete(asked))
      opening.set(asked, opened)
      await opened
    },
    unload(asked) {
      const served = models.get(asked)
      if (!served || served.root === null)
        throw apiError(404, `The lora adapter '${asked}' cannot be found.`, { param: 'lora_name' })
      models.delete(asked)
      leaving.add(served)
      closeIfIdle(served)
    },
    async close() {
      const loaded = [...models.values(), ...leaving].filter(({ root }) => root !== null)
      await Promise.allSettled(loaded.map(({ model }) => model.close()))
    },
  }
}
