/**
 * Schemas of Kubernetes and KEDA from npm: `kubernetes-models`. They are fetched on demand and kept in the cache, since
 * they weigh 26 MB and check these manifests alone (docs/decisions/941-deploy-check.md).
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { cachePlace } from '../../src/package.ts'
import { safeParse } from '../../src/safe-parse.ts'

const PACKAGES = ['kubernetes-models@5.1.0', '@kubernetes-models/keda@2.0.0']

export const objectSchema = z.looseObject({
  apiVersion: z.string().regex(/^[a-z0-9./]+$/),
  kind: z.string().regex(/^[A-Za-z]+$/),
  metadata: z.looseObject({ name: z.string() }),
})
export type KubernetesObject = z.infer<typeof objectSchema>

export const nameOf = ({ kind, metadata }: KubernetesObject) => `${kind}/${metadata.name}`

export type Models = { readonly faultsOf: (object: KubernetesObject) => Promise<readonly string[]> }

/** Returns null if they are not in the cache and no registry answers. */
export function openModels(): Models | null {
  const folder = cachePlace('deploy-check', PACKAGES.join('_').replaceAll('/', '-'))
  const modules = join(folder, 'node_modules')
  if (!existsSync(join(modules, 'kubernetes-models')) && !install(folder)) return null
  return { faultsOf: (object) => faultsOf(modules, object) }
}

function install(folder: string): boolean {
  mkdirSync(folder, { recursive: true })
  const words = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
  return spawnSync('npm', [...words, ...PACKAGES], { stdio: 'ignore', timeout: 120_000 }).status === 0
}

async function faultsOf(modules: string, object: KubernetesObject): Promise<readonly string[]> {
  const from = object.apiVersion.startsWith('keda.sh/') ? '@kubernetes-models/keda' : 'kubernetes-models'
  const path = join(modules, from, object.apiVersion, `${object.kind}.js`)
  if (!existsSync(path)) return [`there is no ${object.kind} in ${object.apiVersion}`]
  const { [object.kind]: Model } = await import(pathToFileURL(path).href)
  const unread = new Set<string>()
  const model = new Model(object)
  for (const [key, value] of Object.entries(model)) model[key] = watched(value, key, unread)
  const wrong = await complaint(model)
  return [...wrong, ...[...unread].map((path) => `${path}: no such key`)]
}

const failureSchema = z.object({ message: z.string() })

async function complaint(model: { readonly validate: () => void }): Promise<readonly string[]> {
  try {
    model.validate()
    return []
  } catch (error) {
    const failure = safeParse(failureSchema, error)
    return [failure.success ? failure.data.message.replaceAll('data/', '') : String(error)]
  }
}

/**
 * The schemas let unknown keys pass, so `replica: 2` would be in order. They read every key that they know. So a key
 * that nobody reads while an object is checked is unknown.
 */
function watched(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const key of Object.keys(value)) unread.add(`${path}.${key}`)
  const inner = new Map<string, unknown>()
  return new Proxy(value, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key)
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return found
      unread.delete(`${path}.${key}`)
      if (!inner.has(key)) inner.set(key, watched(found, `${path}.${key}`, unread))
      return inner.get(key)
    },
  })
}
