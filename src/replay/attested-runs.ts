/** A register of runs: a folder of attestations, which anybody may add to. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RlError } from '../errors.ts'
import { type Attestation, confirmAlone, readAttestation } from './attest.ts'

export type AttestedRun = Pick<
  Attestation,
  'run' | 'seed' | 'completed' | 'codeVersion' | 'configDigest' | 'digest'
> & {
  /** Path within the folder. */
  readonly file: string
  readonly setting: string | null
  readonly policy: string | null
  /** The last evaluation of each split, with its limits of 95 %. */
  readonly evaluations: Attestation['evaluations']
  /** False if its config is not the one of its digest. */
  readonly confirmed: boolean
  /** Other files in which the same happened, event by event. */
  readonly repeats: readonly string[]
}

/** A file that is no attestation. */
export type Unreadable = { readonly file: string; readonly error: RlError }

/**
 * Reads all attestations below a folder, in the order of their paths.
 * @throws RlError `attest.none` if there is no such folder
 */
export function attestedRuns(folder: string): {
  readonly runs: readonly AttestedRun[]
  readonly unreadable: readonly Unreadable[]
} {
  if (!existsSync(folder))
    throw new RlError(`there is no folder ${folder}`, {
      code: 'attest.none',
      hint: 'rl attest RUN -o FOLDER/RUN.json writes the first file',
    })
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const read = files
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => readIn(folder, file))
  const found = read.flatMap((one) => ('attestation' in one ? [one] : []))
  return {
    runs: found.map(({ file, attestation }) =>
      rowOf(file, attestation, repeatsOf(file, attestation.digest, found)),
    ),
    unreadable: read.flatMap((one) => ('error' in one ? [one] : [])),
  }
}

type Read = { readonly file: string; readonly attestation: Attestation }

function readIn(folder: string, file: string): Read | Unreadable {
  try {
    return { file, attestation: readAttestation(join(folder, file)) }
  } catch (error) {
    if (error instanceof RlError) return { file, error }
    throw error
  }
}

function repeatsOf(file: string, digest: string, all: readonly Read[]): readonly string[] {
  return all.flatMap((one) => (one.attestation.digest === digest && one.file !== file ? [one.file] : []))
}

function rowOf(file: string, attestation: Attestation, repeats: readonly string[]): AttestedRun {
  const { run, seed, completed, codeVersion, configDigest, digest, config, evaluations } = attestation
  const splits = [...new Set(evaluations.map(({ split }) => split))]
  return {
    ...{ file, run, seed, completed, codeVersion, configDigest, digest, repeats },
    setting: textIn(config, 'environment', 'name'),
    policy: textIn(config, 'policy', 'model') ?? textIn(config, 'policy', 'provider'),
    evaluations: splits.flatMap((split) => evaluations.findLast((one) => one.split === split) ?? []),
    confirmed: confirmAlone(attestation).ok,
  }
}

function textIn(config: Attestation['config'], section: string, key: string): string | null {
  const values = config[section]
  const value = typeof values === 'object' && values !== null ? Reflect.get(values, key) : null
  return typeof value === 'string' ? value : null
}
