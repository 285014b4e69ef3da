/** Pods of a manifest: who they run as, what they may write, and what they run. */
import { z } from 'zod'
import { safeParse } from '../../src/safe-parse.ts'
import { isOwnImage } from './command-lines.ts'
import { isLoose } from './containerfile.ts'
import { issuesOf } from './fault.ts'
import type { KubernetesObject } from './models.ts'

const strings = z.array(z.string()).default([])
const probe = z.looseObject({ exec: z.looseObject({ command: strings }).optional() }).optional()
const containerSchema = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: strings,
  args: strings,
  env: z.array(z.looseObject({ name: z.string() })).default([]),
  envFrom: z
    .array(z.looseObject({ configMapRef: z.looseObject({ name: z.string() }).optional() }))
    .default([]),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  volumeMounts: z.array(z.looseObject({ name: z.string() })).default([]),
})
const templateSchema = z.looseObject({
  template: z.looseObject({
    metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
    spec: z.looseObject({
      containers: z.array(containerSchema).min(1),
      volumes: z.array(z.looseObject({ name: z.string() })).default([]),
    }),
  }),
})

/** Rules of the strictest standard for pods, and a root file system that nobody writes. */
const lockedContainer = z.looseObject({
  securityContext: z.looseObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.looseObject({ drop: z.tuple([z.literal('ALL')]) }),
    privileged: z.literal(false).optional(),
    runAsUser: z.int().positive('it runs as root').optional(),
    runAsNonRoot: z.literal(true, 'it may run as root').optional(),
  }),
  resources: z.looseObject({ requests: z.looseObject({}), limits: z.looseObject({ memory: z.string() }) }),
  livenessProbe: z.looseObject({}),
})
const lockedPod = z.looseObject({
  automountServiceAccountToken: z.literal(false),
  hostNetwork: z.literal(false).optional(),
  hostPID: z.literal(false).optional(),
  securityContext: z.looseObject({
    runAsNonRoot: z.literal(true, 'it may run as root'),
    runAsUser: z.int().positive('it runs as root'),
    seccompProfile: z.looseObject({ type: z.literal('RuntimeDefault') }),
  }),
  containers: z.array(lockedContainer),
})

export type Container = {
  readonly name: string
  readonly image: string
  readonly env: readonly { readonly name: string }[]
  readonly envFrom: readonly { readonly configMapRef?: { readonly name: string } | undefined }[]
  /** Its command and those of its probes. The project's own image begins with `rl`. */
  readonly words: readonly (readonly string[])[]
}

/** Returns null for an object without pods. */
export function podSpecOf({ spec }: KubernetesObject) {
  const parsed = safeParse(templateSchema, spec)
  if (!parsed.success) return null
  const { metadata, spec: pod } = parsed.data.template
  return { labels: metadata.labels, pod }
}

export function containersOf(object: KubernetesObject): readonly Container[] {
  return (podSpecOf(object)?.pod.containers ?? []).map(({ name, image, env, envFrom, ...one }) => {
    const entry = one.command.length > 0 ? one.command : isOwnImage(image) ? ['rl'] : []
    const probes = [one.startupProbe, one.livenessProbe, one.readinessProbe]
    const words = [[...entry, ...one.args], ...probes.map((probe) => probe?.exec?.command ?? [])]
    return { name, image, env, envFrom, words: words.filter((line) => line.length > 0) }
  })
}

export function podFaults(object: KubernetesObject): readonly string[] {
  if (object.kind !== 'Deployment') return []
  const found = safeParse(templateSchema, object.spec)
  if (!found.success) return issuesOf(found.error)
  const { metadata, spec: pod } = found.data.template
  const locked = safeParse(lockedPod, pod)
  const volumes = new Set(pod.volumes.map(({ name }) => name))
  return [
    ...(locked.success ? [] : issuesOf(locked.error).map((text) => `template.spec.${text}`)),
    ...pod.containers.flatMap(({ name, volumeMounts }) =>
      volumeMounts
        .filter((mount) => !volumes.has(mount.name))
        .map((mount) => `${name}: there is no volume ${mount.name}`),
    ),
    ...pod.containers
      // kustomize gives the project's own image its version.
      .filter(({ image }) => image !== 'rlanything' && isLoose(image))
      .map(({ image }) => `the image ${image} has no version`),
    ...(selects(object.spec, metadata.labels) ? [] : ['its selector does not match the labels of its pods']),
  ]
}

const selectorSchema = z.looseObject({
  selector: z.looseObject({ matchLabels: z.record(z.string(), z.string()) }),
})

function selects(spec: unknown, labels: Readonly<Record<string, string>>): boolean {
  const parsed = safeParse(selectorSchema, spec)
  if (!parsed.success) return false
  return Object.entries(parsed.data.selector.matchLabels).every(([key, value]) => labels[key] === value)
}
