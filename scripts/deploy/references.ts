/** Names in manifests that nothing has. They are no error to a cluster, and nothing would happen. */
import { z } from 'zod'
import { eventQueue, ROLLOUT_WORK } from '../../src/actors/runtime/work.ts'
import { CONSUMER } from '../../src/events/nats/queues.ts'
import { safeParse } from '../../src/safe-parse.ts'
import { issuesOf } from './fault.ts'
import { type KubernetesObject, nameOf } from './models.ts'
import { containersOf, podSpecOf } from './pods.ts'
import { variablesOf } from './shell-words.ts'

type Labels = Readonly<Record<string, string>>

export function referenceFaults(objects: readonly KubernetesObject[]): readonly string[] {
  const run = runOf(objects)
  return objects.flatMap((object) => {
    const name = `${object.kind}/${object.metadata.name}`
    const faults =
      object.kind === 'ScaledObject'
        ? scaleFaults(object, deploymentsOf(objects), eventQueue(run, ROLLOUT_WORK.type).name)
        : name === 'Deployment/head'
          ? shapeFaults(headSchema, object)
          : object.kind === 'PodDisruptionBudget'
            ? budgetFaults(object, labelsOf(objects))
            : []
    return faults.map((text) => `${nameOf(object)}: ${text}`)
  })
}

const configMapSchema = z.looseObject({ data: z.record(z.string(), z.string()) })

/** Returns the run of the manifests: kustomize makes a map with its name. Without kustomize the run is `main`. */
function runOf(objects: readonly KubernetesObject[]): string {
  const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('run'))
  const parsed = safeParse(configMapSchema, map)
  return (parsed.success ? parsed.data.data.RUN : undefined) ?? 'main'
}

function deploymentsOf(objects: readonly KubernetesObject[]): readonly string[] {
  return objects.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name)
}

function labelsOf(objects: readonly KubernetesObject[]): readonly Labels[] {
  return objects.flatMap((object) => {
    const found = podSpecOf(object)
    return found === null ? [] : [found.labels]
  })
}

function shapeFaults(schema: z.ZodType, { spec }: KubernetesObject): readonly string[] {
  const parsed = safeParse(schema, spec)
  return parsed.success ? [] : issuesOf(parsed.error).map((text) => `spec.${text}`)
}

const headSchema = z.looseObject({
  replicas: z.literal(1, 'a run has one head'),
  strategy: z.looseObject({ type: z.literal('Recreate', 'the next head begins when this one has ended') }),
})

const scaledSchema = z.looseObject({
  scaleTargetRef: z.looseObject({ name: z.string() }),
  triggers: z.array(z.looseObject({ type: z.string(), metadata: z.record(z.string(), z.string()) })).min(1),
})

function scaleFaults(
  object: KubernetesObject,
  deployments: readonly string[],
  queue: string,
): readonly string[] {
  const parsed = safeParse(scaledSchema, object.spec)
  if (!parsed.success) return shapeFaults(scaledSchema, object)
  const { scaleTargetRef, triggers } = parsed.data
  const faults: string[] = []
  if (!deployments.includes(scaleTargetRef.name))
    faults.push(`it scales '${scaleTargetRef.name}', which is no Deployment here`)
  for (const { type, metadata } of triggers.filter(({ type }) => type === 'nats-jetstream')) {
    const { stream = '', consumer = '', lagThreshold = '' } = metadata
    if (stream !== queue) faults.push(`${type}: no run has a queue '${stream}', expected '${queue}'`)
    if (consumer !== CONSUMER)
      faults.push(`${type}: the consumer of a queue is '${CONSUMER}', not '${consumer}'`)
    if (!/^[1-9]\d*$/.test(lagThreshold))
      faults.push(`${type}: lagThreshold is '${lagThreshold}', expected a number`)
  }
  return faults
}

const budgetSchema = z.looseObject({
  selector: z.looseObject({ matchLabels: z.record(z.string(), z.string()) }),
})

function budgetFaults(object: KubernetesObject, pods: readonly Labels[]): readonly string[] {
  const parsed = safeParse(budgetSchema, object.spec)
  if (!parsed.success) return shapeFaults(budgetSchema, object)
  const wanted = Object.entries(parsed.data.selector.matchLabels)
  return pods.some((labels) => wanted.every(([key, value]) => labels[key] === value))
    ? []
    : ['it selects no pod']
}

/** Variables of command lines that nothing sets. They would stay as they are written. */
export function variableFaults(objects: readonly KubernetesObject[]): readonly string[] {
  const maps = new Map(
    objects.flatMap((object) => {
      const parsed = object.kind === 'ConfigMap' ? safeParse(configMapSchema, object) : null
      return parsed?.success ? [[object.metadata.name, Object.keys(parsed.data.data)] as const] : []
    }),
  )
  return objects.flatMap((object) =>
    containersOf(object).flatMap(({ name, env, envFrom, words }) => {
      const set = new Set([
        ...env.map((one) => one.name),
        ...envFrom.flatMap(({ configMapRef }) => maps.get(configMapRef?.name ?? '') ?? []),
      ])
      const used = words.flat().flatMap(variablesOf)
      return used
        .filter((one) => !set.has(one))
        .map((one) => `${nameOf(object)}: nothing sets ${one} in the container ${name}`)
    }),
  )
}
