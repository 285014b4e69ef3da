/** The models that a server has, by name: its own, and those that clients had it load. */
import { existsSync } from 'node:fs'
import { explain } from '../../../errors.ts'
import { apiError } from '../../../openai-api/errors.ts'
import type { LocalModelFace } from '../model.ts'

export type LoadingOptions = {
  /** Opens a model folder, or one with an adapter. */
  readonly open: (folder: string) => Promise<LocalModelFace>
  /** Most models beside the server's own. */
  readonly most: number
}

export type NamedModel = {
  readonly name: string
  readonly model: LocalModelFace
  /** The folder; of the server's own model null. */
  readonly root: string | null
  readonly created: number
}

export type ServedModels = {
  readonly list: () => readonly NamedModel[]
  /** Errors: ApiError 404. */
  readonly find: (name: string) => NamedModel
  /** Counts a request in work; the function returned ends it. A model that was unloaded is closed after its last. */
  readonly begin: (served: NamedModel) => () => void
  /** Errors: ApiError 400 where the name was used before or the folder is no model, 404 where there is none. */
  readonly load: (name: string, folder: string) => Promise<void>
  /** Errors: ApiError 404. */
  readonly unload: (name: string) => void
  /** Closes all that was loaded. */
  readonly close: () => Promise<void>
}

export function servedModels(
  name: string,
  own: LocalModelFace,
  loading: LoadingOptions | null,
): ServedModels {
  const now = () => Math.floor(Date.now() / 1000)
  const models = new Map<string, NamedModel>([[name, { name, model: own, root: null, created: now() }]])
  /** Also of models that are gone: a name never means other weights than before. */
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
      // Whoever asks again, such as a head that was ended meanwhile, hears how it ended.
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
