/** Checks shell scripts, configs of nats-server, values of its chart, and files of variables. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { safeParse } from '../../src/safe-parse.ts'
import { complaintOf, type Fault, issuesOf } from './fault.ts'

export function scriptFaults(folder: string, file: string, hasBash: boolean): readonly Fault[] {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const complaint = hasBash ? complaintOf('bash', ['-n', path], { silent: true }) : null
  const options = [...text.matchAll(/^#SBATCH +(\S*)/gm)].map(([, option = '']) => option)
  return [
    ...(complaint === null ? [] : [complaint]),
    ...(text.includes('\nset -euo pipefail\n') ? [] : ['it goes on after an error: set -euo pipefail']),
    ...((statSync(path).mode & 0o111) === 0 ? ['it is not executable'] : []),
    ...options
      .filter((option) => !SBATCH.test(option))
      .map((option) => `#SBATCH ${option} is no option that is known here`),
  ].map((said) => ({ file, text: said }))
}

/** Options of sbatch that the scripts use, with the form of their values. */
const SBATCH =
  /^--(job-name=[\w-]+|(nodes|ntasks-per-node|cpus-per-task|gpus-per-node)=\d+|time=(\d+-)?\d\d:\d\d:\d\d|requeue|signal=(B:)?[A-Z]+@\d+)$/

const MISSING = /no such file|cannot find|not found/i

/** Lets the server read its config. Certificates are made at the place itself, so they are left out here. */
export function natsFaults(folder: string, file: string, natsServer: string | null): readonly Fault[] {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const needed = ['tls', 'authorization', 'jetstream', 'max_payload'].filter(
    (key) => !new RegExp(`^${key}\\b`, 'm').test(text),
  )
  const faults = needed.map((key) => ({ file, text: `it has no ${key}` }))
  if (natsServer === null) return faults
  const complaint = complaintOf(natsServer, ['-t', '-c', path], { env: { NATS_TOKEN: 'token' } })
  // The test opens the certificates last: a config that comes so far is in order.
  return complaint === null || MISSING.test(complaint) ? faults : [...faults, { file, text: complaint }]
}

const valuesSchema = z.strictObject({
  fullnameOverride: z.literal('nats'),
  config: z.strictObject({
    cluster: z.strictObject({ enabled: z.literal(true), replicas: z.int().min(3) }),
    jetstream: z.strictObject({
      enabled: z.literal(true),
      fileStore: z.strictObject({
        enabled: z.literal(true),
        pvc: z.strictObject({ size: z.string().regex(/^\d+Gi$/) }),
      }),
    }),
    nats: z.strictObject({ tls: z.strictObject({ enabled: z.literal(true), secretName: z.string() }) }),
    monitor: z.strictObject({ enabled: z.literal(true), port: z.literal(8222) }),
    merge: z.strictObject({
      max_payload: z.literal('<< 8MB >>'),
      authorization: z.strictObject({ token: z.literal('<< $NATS_TOKEN >>'), timeout: z.int() }),
    }),
  }),
  container: z.strictObject({
    env: z.strictObject({
      NATS_TOKEN: z.strictObject({
        valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: z.string(), key: z.string() }) }),
      }),
    }),
  }),
  podDisruptionBudget: z.strictObject({ enabled: z.boolean() }),
})

export function valuesFaults(folder: string, file: string): readonly Fault[] {
  const parsed = safeParse(valuesSchema, parse(readFileSync(join(folder, file), 'utf8')))
  return parsed.success ? [] : issuesOf(parsed.error).map((text) => ({ file, text }))
}

export function variablesFaults(folder: string, file: string): readonly Fault[] {
  const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n')
  return lines
    .filter((line) => !/^[A-Z_]+=\S+$/.test(line))
    .map((line) => ({ file, text: `'${line}' is no NAME=VALUE` }))
}

/** Makes the secrets of a broker, and lets openssl verify them. */
export function secretsFaults(folder: string, file: string): readonly Fault[] {
  const made = mkdtempSync(join(tmpdir(), 'rl-deploy-secrets-'))
  try {
    const complaint =
      complaintOf('bash', [join(folder, file), made, 'nats', '127.0.0.1']) ??
      complaintOf('openssl', [
        'verify',
        '-CAfile',
        join(made, 'ca.crt'),
        '-verify_hostname',
        'nats',
        join(made, 'tls.crt'),
      ]) ??
      complaintOf('openssl', [
        'verify',
        '-CAfile',
        join(made, 'ca.crt'),
        '-verify_ip',
        '127.0.0.1',
        join(made, 'tls.crt'),
      ])
    const open = ['ca.key', 'tls.key', 'broker.env'].filter(
      (name) => (statSync(join(made, name)).mode & 0o077) !== 0,
    )
    return [...(complaint === null ? [] : [complaint]), ...open.map((name) => `others can read ${name}`)].map(
      (text) => ({
        file,
        text,
      }),
    )
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}
