/** Checks manifests of Kubernetes: shapes, what names what, no root, and the command lines of the containers. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { safeParse } from '../../src/safe-parse.ts'
import { type CommandLine, commandLinesOf, isOwnImage } from './command-lines.ts'
import { type Fault, issuesOf } from './fault.ts'
import { type KubernetesObject, type Models, nameOf, objectSchema } from './models.ts'
import { containersOf, podFaults } from './pods.ts'
import { referenceFaults, variableFaults } from './references.ts'

export type ManifestTools = { readonly kubectl: boolean; readonly models: Models | null }
export type ManifestCheck = { readonly faults: readonly Fault[]; readonly lines: readonly CommandLine[] }

/** @param place a folder with a kustomization.yaml, as a path from the folder of all files */
export async function checkManifests(
  folder: string,
  place: string,
  { kubectl, models }: ManifestTools,
): Promise<ManifestCheck> {
  const fault = (text: string): Fault => ({ file: place, text })
  const path = join(folder, place)
  const read = kubectl ? rendered(path) : sources(path)
  if (typeof read === 'string') return { faults: [fault(read)], lines: [] }
  const parsed = read.map((object) => safeParse(objectSchema, object))
  const objects = parsed.flatMap((one) => (one.success ? [one.data] : []))
  const faults = [
    ...parsed.flatMap((one) => (one.success ? [] : issuesOf(one.error))),
    ...(await Promise.all(objects.map((one) => modelFaults(one, models)))).flat(),
    ...objects.flatMap((one) => podFaults(one).map((text) => `${nameOf(one)}: ${text}`)),
    ...referenceFaults(objects),
    ...(kubectl ? variableFaults(objects) : []),
  ]
  return { faults: faults.map(fault), lines: objects.flatMap((object) => linesOf(place, object)) }
}

async function modelFaults(object: KubernetesObject, models: Models | null): Promise<readonly string[]> {
  const found = (await models?.faultsOf(object)) ?? []
  return found.map((text) => `${nameOf(object)}: ${text}`)
}

/** Returns the objects that kustomize makes, or its complaint. */
function rendered(path: string): readonly unknown[] | string {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path], { encoding: 'utf8' })
  return status === 0 ? documents(stdout) : stderr.trim() || `kubectl ended with status ${status}`
}

const kustomizationSchema = z.looseObject({ resources: z.array(z.string()) })

/** Returns the objects before kustomize changes them. An overlay has those of its own files alone. */
function sources(path: string): readonly unknown[] | string {
  const text = readFileSync(join(path, 'kustomization.yaml'), 'utf8')
  const kustomization = safeParse(kustomizationSchema, parse(text))
  if (!kustomization.success) return issuesOf(kustomization.error).join('; ')
  const files = kustomization.data.resources.map((name) => join(path, name))
  const lost = files.find((file) => !existsSync(file))
  if (lost !== undefined) return `there is no ${lost}`
  return files
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => documents(readFileSync(file, 'utf8')))
}

function documents(text: string): readonly unknown[] {
  return parseAllDocuments(text).map((document) => document.toJS())
}

function linesOf(place: string, object: KubernetesObject): readonly CommandLine[] {
  return containersOf(object)
    .filter(({ image }) => isOwnImage(image))
    .flatMap(({ words }) => words.flatMap((one) => commandLinesOf(place, one)))
}
