/** The runs of the folder of runs, by their names. */
import { existsSync, readdirSync } from 'node:fs'
import { RlError } from '../errors.ts'
import { RUN_ID } from '../events/envelope.ts'
import { nearest } from '../nearest.ts'
import { runFolder, runsFolder } from './connection.ts'

/** Returns the names of all folders that hold the log of a run, sorted. */
export function runNames(root = runsFolder()): readonly string[] {
  if (!existsSync(root)) return []
  return readdirSync(root)
    .filter((name) => RUN_ID.test(name) && existsSync(runFolder(name, root).log))
    .sort()
}

/** Returns the error of a run that is not there, with the nearest name. */
export function unknownRun(run: string, root = runsFolder()): RlError {
  const near = nearest(run, runNames(root))
  return new RlError(`there is no run '${run}' in ${root}`, {
    code: 'run.unknown',
    hint: near === null ? 'rl runs lists them' : `did you mean '${near}'? rl runs lists them`,
  })
}
