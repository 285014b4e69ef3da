/** One file that says what a run was and what came of it. It can be checked against a log on any machine. */
import { z } from 'zod'
import { type Config, configDigest } from '../config.ts'
import { RlError } from '../errors.ts'
import { openDigest } from '../events/digest.ts'
import type { LogReader } from '../events/log-reader.ts'
import { packCanonical } from '../events/msgpack.ts'
import { startsOf } from '../events/starts.ts'
import { verifyLog } from '../events/verify.ts'
import { type Estimate, wilson } from '../learning/interval.ts'
import { readTextSync } from '../text-file.ts'

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const figure = z.strictObject({
  iteration: z.int(),
  split: z.string(),
  value: z.number(),
  /** 95 %, Wilson. */
  low: z.number(),
  high: z.number(),
  /** Rollouts with an outcome. */
  n: z.int(),
})

const attestationSchema = z.strictObject({
  format: z.literal('rlanything.attestation.v1'),
  run: z.string(),
  /** Last position of the log, and the hash of the chain there: every byte of every event is in it. */
  events: z.int(),
  chain: sha256,
  /** Event digest (events/digest.ts): equal for two runs in which the same happened. */
  digest: sha256,
  completed: z.boolean(),
  parent: z.strictObject({ run: z.string(), position: z.int() }).nullable(),
  config: z.record(z.string(), z.unknown()),
  configDigest: sha256,
  codeVersion: z.string(),
  seed: z.number(),
  /** Digests of the weights of all versions that were kept, or of their texts. */
  models: z.array(z.strictObject({ role: z.string(), version: z.int(), sha256 })),
  /** Ids of all tasks that the run ever held or was proposed. */
  tasks: z.array(z.string()),
  evaluations: z.array(figure),
})

export type Attestation = z.infer<typeof attestationSchema>

export function attest(log: LogReader): Attestation {
  const verified = verifyLog(log)
  if (!verified.ok)
    throw new RlError(`the log of run '${log.run}' is bad: ${badPart(verified)}`, {
      code: 'attest.bad-log',
      hint: 'only a log whose hash chain holds can be attested',
    })
  const { config, codeVersion, seed, parent, configDigest: digestOfConfig } = startsOf(log).last.data
  const digest = openDigest()
  const models: Attestation['models'] = []
  const tasks = new Set<string>()
  const evaluations: Attestation['evaluations'] = []
  let completed = false
  for (const event of log.events()) {
    digest.add(event)
    const { type, data } = event
    if (type === 'CheckpointSealed')
      models.push({ role: data.role, version: data.version, sha256: data.sha256 })
    else if (type === 'InstructionsChosen')
      models.push({ role: 'policy', version: data.version, sha256: data.sha256 })
    else if (type === 'TaskAdded' || type === 'TaskProposed') tasks.add(data.task.id)
    else if (type === 'EvaluationCompleted')
      evaluations.push({
        iteration: data.iteration,
        split: data.split,
        ...numbers(wilson(data.rollouts.successes, data.rollouts.n)),
      })
    else if (type === 'RunCompleted') completed = true
  }
  return {
    format: 'rlanything.attestation.v1',
    run: log.run,
    events: verified.events,
    chain: verified.hash,
    digest: digest.value(),
    completed,
    parent,
    config,
    configDigest: digestOfConfig,
    codeVersion,
    seed,
    models,
    tasks: [...tasks].sort(),
    evaluations,
  }
}

function numbers({ value, low, high, n }: Estimate) {
  return { value, low, high, n }
}

/** @throws RlError `attest.not-one` */
export function readAttestation(path: string): Attestation {
  try {
    return attestationSchema.parse(JSON.parse(readTextSync(path)))
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`${path} is not an attestation of a run`, {
      code: 'attest.not-one',
      hint: 'rl attest RUN -o FILE writes one',
      cause,
    })
  }
}

export type Confirmation = { readonly ok: boolean; readonly lines: readonly string[] }

/** Checks the file by itself: it must agree with its own digests. */
export function confirmAlone({ config, configDigest: digest }: Attestation): Confirmation {
  const own = configDigest(config as Config)
  if (own === digest) return { ok: true, lines: ['the config has the digest that is given'] }
  return {
    ok: false,
    lines: [`the config has digest ${own}, not ${digest}: it was changed`],
  }
}

function badPart({
  position,
  reason,
}: {
  readonly position: number | null
  readonly reason: string
}): string {
  return position === null ? reason : `position ${position} is bad: ${reason}`
}

/** Checks the log byte by byte, and that all that is attested follows from it. Names the first bad event. */
export function confirm(given: Attestation, log: LogReader): Confirmation {
  const verified = verifyLog(log)
  if (!verified.ok) return { ok: false, lines: [badPart(verified)] }
  if (verified.hash !== given.chain) {
    const shorter =
      verified.events === given.events ? '' : `, with ${verified.events} events for ${given.events}`
    return { ok: false, lines: [`this is another log: its chain ends in ${verified.hash}${shorter}`] }
  }
  const found = attest(log)
  const wrong = (Object.keys(given) as (keyof Attestation)[]).filter(
    (key) => Buffer.compare(packCanonical(given[key]), packCanonical(found[key])) !== 0,
  )
  if (wrong.length > 0) return { ok: false, lines: wrong.map((key) => `'${key}' is not what the log holds`) }
  return {
    ok: true,
    lines: [
      `${given.events} events verified, chain ${given.chain}`,
      'all that is attested follows from them',
    ],
  }
}
