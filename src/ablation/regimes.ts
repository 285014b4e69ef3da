/** Regimes in which parts are measured: ready configs, a file each. */
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { RlError } from '../errors.ts'
import { nearest } from '../nearest.ts'
import { findFile } from '../package.ts'

const FOLDER = 'config/regimes'

export function regimeNames(): readonly string[] {
  return readdirSync(findFile(FOLDER))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => basename(file, '.yaml'))
    .sort()
}

/**
 * Returns the file of a regime's config.
 * @throws RlError `cli.usage` with the nearest name
 */
export function regimeFile(name: string): string {
  const names = regimeNames()
  if (names.includes(name)) return `${FOLDER}/${name}.yaml`
  throw unknownName('regime', name, names)
}

/** An error that names the nearest of the right names. */
export function unknownName(kind: string, name: string, names: readonly string[]): RlError {
  return new RlError(`'${name}' is no ${kind}`, { code: 'cli.usage', hint: rightNames(name, names) })
}

/** A hint with the nearest of the right names. */
export function rightNames(name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  return `${near === null ? '' : `the nearest is ${near}; `}they are ${names.join(', ')}`
}
