/**
 * A local model in memory. It has the weights of one version at a time. Many callers may use it, and one of them
 * changes it. Spare models hold earlier versions for rollouts that began with them.
 */
import type { TrainableModel } from '../../models/port.ts'

/** A model with what its role made around it. */
type Face = { readonly model: TrainableModel }

export type ResidentModel<F extends Face> = {
  /**
   * Works with the weights of a version. Several calls may work at a time. If the model has other weights, those of the
   * version are loaded first.
   */
  readonly use: <T>(version: number, work: (face: F) => Promise<T>) => Promise<T>
  /** Works alone, from one version's weights to the next's. Where it fails the weights count as unknown. */
  readonly change: <T>(from: number, to: number, work: (face: F) => Promise<T>) => Promise<T>
  /** Frees the memory. A model that is at work is not waited for: it ends with its process. */
  readonly close: () => Promise<void>
  /** Loads the weights of a version before anybody asks for them. Errors: what is missing or damaged. */
  readonly ready: (version: number) => Promise<void>
  /**
   * Resolves to the error if the weights of a version are missing or damaged. Work with that version waits for another
   * process.
   */
  readonly broken: Promise<unknown>
}

export type ResidentModelOptions<F extends Face> = {
  /** The folder with a version's weights. */
  readonly folderOf: (version: number) => Promise<string>
  readonly open: (folder: string) => Promise<F>
  /** Number of further models, for rollouts of earlier versions. Each is opened when it is first asked for. */
  readonly spares?: number
  /** Opens a spare: nothing trains it. Default: `open`. */
  readonly openSpare?: (folder: string) => Promise<F>
}

const UNKNOWN = -1

/**
 * Opens nothing yet. Without spares, users of two versions load their weights over each other's, and each load forgets all prompts.
 */
export function residentModel<F extends Face>(options: ResidentModelOptions<F>): ResidentModel<F> {
  const { spares = 0, openSpare = options.open } = options
  const first = oneModel(options)
  if (spares === 0) return first
  /** The one that was used last comes last. */
  const others = Array.from({ length: spares }, () => oneModel({ ...options, open: openSpare }))

  function modelFor(version: number): ResidentModel<F> {
    const own = first.version()
    if (own === null || own === version) return first
    const index = Math.max(
      0,
      others.findIndex((other) => other.version() === version),
    )
    const [other = first] = others.splice(index, 1)
    others.push(other)
    return other
  }

  return {
    use: (version, work) => modelFor(version).use(version, work),
    change: first.change,
    ready: first.ready,
    broken: Promise.race([first, ...others].map(({ broken }) => broken)),
    async close() {
      await Promise.all([first, ...others].map((model) => model.close()))
    },
  }
}

/** The version is the one that was asked for last, or that a change leads to. It is null if nothing was asked for. */
type OneModel<F extends Face> = ResidentModel<F> & { readonly version: () => number | null }

function oneModel<F extends Face>({ folderOf, open }: ResidentModelOptions<F>): OneModel<F> {
  let asked: number | null = null
  let held: { readonly face: F; version: number } | null = null
  let turn: Promise<unknown> = Promise.resolve()
  /** Turns that are not over. */
  let turns = 0
  const active = new Set<Promise<unknown>>()

  function alone<T>(work: () => Promise<T>): Promise<T> {
    turns++
    const mine = turn
      .then(() => Promise.allSettled(active))
      .then(work)
      .finally(() => turns--)
    turn = mine.catch(() => {})
    return mine
  }

  let tellBroken: (error: unknown) => void = () => {}
  const broken = new Promise<unknown>((resolve) => {
    tellBroken = resolve
  })

  /** Finds the weights. A fault of the disk does not fail the work that asks: the work waits, and its process ends. */
  function findOrWait(version: number): Promise<string> {
    return folderOf(version).catch((error: unknown) => {
      tellBroken(error)
      return new Promise<never>(() => {})
    })
  }

  async function prepare(version: number, find = findOrWait): Promise<F> {
    if (held?.version === version) return held.face
    const folder = await find(version)
    if (held === null) held = { face: await open(folder), version }
    else {
      held.version = UNKNOWN
      await held.face.model.load(folder)
      held.version = version
    }
    return held.face
  }

  function begin<T>(face: F, work: (face: F) => Promise<T>): Promise<T> {
    const result = work(face)
    active.add(result)
    return result.finally(() => active.delete(result))
  }

  return {
    broken,
    version: () => asked,
    ready(version) {
      asked = version
      return alone(async () => void (await prepare(version, folderOf)))
    },
    async use(version, work) {
      asked = version
      for (;;) {
        const before = turn
        await before
        if (turn !== before) continue
        if (held?.version === version) return begin(held.face, work)
        // Begun in the turn that loads the weights: after it, users of two versions would load theirs over each other's for ever.
        const begun = await alone(async () => ({ result: begin(await prepare(version), work) }))
        return begun.result
      }
    },
    change(from, to, work) {
      asked = to
      return alone(async () => {
        const face = await prepare(from)
        if (held) held.version = UNKNOWN
        const result = await work(face)
        if (held) held.version = to
        return result
      })
    },
    async close() {
      if (turns > 0 || active.size > 0) return
      await alone(async () => {
        await held?.face.model.close()
        held = null
      })
    },
  }
}
