/** Checks compose files: the keys that are used, no root, and the same command lines as everywhere. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { safeParse } from '../../src/safe-parse.ts'
import { type CommandLine, commandLinesOf, isOwnImage } from './command-lines.ts'
import { isLoose } from './containerfile.ts'
import { complaintOf, type Fault, issuesOf } from './fault.ts'

const duration = z.string().regex(/^(\d+(ms|s|m|h))+$/)
const words = z.array(z.string()).min(1)
const texts = z.array(z.string())
const map = z.record(z.string(), z.string())

const serviceSchema = z.strictObject({
  image: z.string().optional(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  hostname: z.string().optional(),
  entrypoint: words.optional(),
  command: words.optional(),
  user: z
    .string()
    .regex(/^[1-9]\d*:[1-9]\d*$/, 'expected a user that is not root, as numbers')
    .optional(),
  read_only: z.literal(true).optional(),
  cap_drop: z.tuple([z.literal('ALL')]).optional(),
  security_opt: texts.optional(),
  init: z.boolean().optional(),
  restart: z
    .string()
    .regex(/^(no|always|unless-stopped|on-failure(:\d+)?)$/, 'no such policy')
    .optional(),
  env_file: texts.optional(),
  environment: map.optional(),
  configs: z.array(z.strictObject({ source: z.string(), target: z.string() })).optional(),
  secrets: texts.optional(),
  volumes: texts.optional(),
  tmpfs: texts.optional(),
  shm_size: z
    .string()
    .regex(/^\d+[kmg]b$/)
    .optional(),
  gpus: z.literal('all').optional(),
  depends_on: z
    .record(
      z.string(),
      z.strictObject({
        condition: z.enum(['service_started', 'service_healthy', 'service_completed_successfully']),
      }),
    )
    .optional(),
  deploy: z.strictObject({ replicas: z.int().nonnegative() }).optional(),
  stop_grace_period: duration.optional(),
  healthcheck: z
    .strictObject({
      test: z.tuple([z.enum(['CMD', 'CMD-SHELL'])], z.string()),
      interval: duration.optional(),
      timeout: duration.optional(),
      start_period: duration.optional(),
      retries: z.int().positive().optional(),
    })
    .optional(),
})
type Service = z.infer<typeof serviceSchema>

const fileOf = z.strictObject({ file: z.string() })
const composeSchema = z.strictObject({
  name: z.string().optional(),
  services: z.record(z.string(), serviceSchema),
  configs: z.record(z.string(), fileOf).default({}),
  secrets: z.record(z.string(), fileOf).default({}),
  volumes: z.record(z.string(), z.strictObject({})).default({}),
})
type Compose = z.infer<typeof composeSchema>

export type ComposeCheck = { readonly faults: readonly Fault[]; readonly lines: readonly CommandLine[] }

/** @param file path from the folder */
export function checkCompose(folder: string, file: string, hasDocker: boolean): ComposeCheck {
  const path = join(folder, file)
  const fault = (text: string): Fault => ({ file, text })
  const read = readYaml(path)
  const parsed = safeParse(composeSchema, read)
  if (!parsed.success) return { faults: issuesOf(parsed.error).map(fault), lines: [] }
  const compose = parsed.data
  const services = Object.entries(compose.services)
  const own = services.filter(([, { image }]) => image === undefined || isOwnImage(image))
  // A file that is given beside another one changes services of it.
  const isWhole = services.every(([, { image }]) => image !== undefined)
  const faults = [
    ...services.flatMap(([name, service]) => [
      ...hardening(name, service),
      ...named(name, service, compose, isWhole),
    ]),
    ...Object.values(compose.configs)
      .filter((one) => !existsSync(join(dirname(path), one.file)))
      .map((one) => `there is no ${one.file}`),
    ...services.flatMap(([, { build }]) =>
      build === undefined || build.dockerfile === 'integrations/deploy/Containerfile'
        ? []
        : [`there is no ${build.dockerfile}`],
    ),
  ]
  const complaint =
    isWhole && hasDocker ? complaintOf('docker', ['compose', '-f', path, 'config', '-q']) : null
  const lines = own.flatMap(([, { command, healthcheck }]) => [
    ...(command ? commandLinesOf(file, ['rl', ...command]) : []),
    ...(healthcheck ? commandLinesOf(file, healthcheck.test.slice(1)) : []),
  ])
  return { faults: [...faults, ...(complaint === null ? [] : [complaint])].map(fault), lines }
}

function readYaml(path: string): unknown {
  try {
    const read = parse(readFileSync(path, 'utf8'), { merge: true })
    return Object.fromEntries(Object.entries(read).filter(([key]) => !key.startsWith('x-')))
  } catch (error) {
    return String(error)
  }
}

/** A service without an image is one of another file, which says the rest. */
function hardening(name: string, service: Service): readonly string[] {
  if (service.image === undefined) return []
  const missing = (['user', 'read_only', 'cap_drop', 'security_opt'] as const).filter(
    (key) => service[key] === undefined,
  )
  return [
    ...missing.map((key) => `${name} has no ${key}: it could run as root, or write its own files`),
    ...(isLoose(service.image) ? [`${name}: the image ${service.image} has no version`] : []),
  ]
}

function named(name: string, service: Service, compose: Compose, isWhole: boolean): readonly string[] {
  const { secrets = [], configs = [], volumes = [], depends_on = {} } = service
  const lost = [
    ...secrets.filter((secret) => !Object.hasOwn(compose.secrets, secret)).map((one) => `secret ${one}`),
    ...configs
      .filter(({ source }) => !Object.hasOwn(compose.configs, source))
      .map((one) => `config ${one.source}`),
    ...volumes
      .map((volume) => volume.split(':')[0] ?? '')
      .filter((volume) => !Object.hasOwn(compose.volumes, volume))
      .map((one) => `volume ${one}`),
    ...Object.keys(depends_on)
      .filter((other) => isWhole && !Object.hasOwn(compose.services, other))
      .map((one) => `service ${one}`),
  ]
  return lost.map((what) => `${name} names the ${what}, which is not in the file`)
}
