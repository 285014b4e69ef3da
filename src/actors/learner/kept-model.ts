/**
 * First versions of models, made once and kept by the digest of their recipe. If several processes need the same version, one makes
 * it and the others wait for it.
 */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { probeBackend } from '../../models/local/backend/probe.ts'
import { FILE_DIGESTS } from '../../models/local/file-digests.ts'
import type { Compute } from '../../models/local/model.ts'
import type { TrainableModel } from '../../models/port.ts'
import { takeFileLock } from '../../platform/file-lock.ts'

export type Figures = Readonly<Record<string, number>>

export type KeptModel = {
  /** A Hugging Face folder without optimiser state: moments of imitation are no moments of RL. */
  readonly folder: string
  readonly cached: boolean
  /** Figures from the making of the model. Empty for models that an older version kept. */
  readonly figures: Figures
}

export type Recipe<M extends TrainableModel> = {
  /** Folder in which finished models are kept. */
  readonly cache: string
  readonly name: string
  /** Everything that determines the model, as JSON. With the same `compute`, the same identity is the same model. */
  readonly identity: unknown
  readonly compute: Compute
  readonly open: () => Promise<M>
  /** Teaches the model, which is closed afterwards. */
  readonly teach: (model: M) => Promise<Figures>
  /** Is told once if another process makes the model. */
  readonly report: (message: string) => void
}

const FIGURES = 'cold-start.json'
/** Between two looks whether another process is done. */
const POLL_MS = 1_000

/** Makes the model, or finds it. The caller's deadline ends the waiting for another process. */
export async function keptModel<M extends TrainableModel>({
  cache,
  name,
  identity,
  compute,
  open,
  teach,
  report,
}: Recipe<M>): Promise<KeptModel> {
  // Sums differ in their last digits with the backend, its kernels and its threads. So do the learned weights.
  const { used } = await probeBackend(compute)
  const folder = join(cache, `${name}-${digestOf([identity, used])}`)
  if (isWhole(folder)) return keptIn(folder)
  const release = await lockOf(`${folder}.lock`, () => report(`another process makes this start: ${folder}`))
  try {
    if (isWhole(folder)) return keptIn(folder)
    const model = await open()
    try {
      const figures = await teach(model)
      const partial = `${folder}.${randomUUID()}.partial`
      await model.save(partial)
      for (const name of ['optimizer.safetensors', FILE_DIGESTS])
        await rm(join(partial, name), { force: true })
      await writeFile(join(partial, FIGURES), JSON.stringify(figures))
      await place(partial, folder)
      return { folder, cached: false, figures }
    } finally {
      await model.close()
    }
  } finally {
    release()
  }
}

/** Waits for the lock. One that was killed holds it no longer. */
async function lockOf(path: string, wait: () => void): Promise<() => void> {
  for (let tries = 0; ; tries++) {
    const release = takeFileLock(path)
    if (release)
      return () => {
        release()
        rmSync(path, { force: true })
      }
    if (tries === 0) wait()
    await delay(POLL_MS)
  }
}

function keptIn(folder: string): KeptModel {
  return { folder, cached: true, figures: figuresIn(folder) }
}

/** Moves a finished model to its place. If another process was first, its model stays: both are the same. */
async function place(partial: string, folder: string): Promise<void> {
  if (!isWhole(folder)) await rm(folder, { recursive: true, force: true })
  try {
    await rename(partial, folder)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    if (!isWhole(folder)) throw error
  }
}

/** A model, or an adapter on one. */
const isWhole = (folder: string) =>
  ['config.json', 'adapter_config.json'].some((name) => existsSync(join(folder, name)))

function figuresIn(folder: string): Figures {
  const file = join(folder, FIGURES)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
