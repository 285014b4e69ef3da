/** Checks every file of a folder that places a run. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type CommandLine, commandLinesOf, commandLinesOfPage } from './command-lines.ts'
import { checkCompose } from './compose.ts'
import { containerfileFaults } from './containerfile.ts'
import type { Fault } from './fault.ts'
import { checkManifests } from './manifests.ts'
import type { Models } from './models.ts'
import { natsFaults, scriptFaults, secretsFaults, valuesFaults, variablesFaults } from './others.ts'
import type { RealCli } from './real-cli.ts'
import { checkSkyTask } from './sky.ts'
import { checkUnit } from './units.ts'

/** Programs that check more than the code here does. Each may be missing. */
export type Tools = {
  readonly bash: boolean
  readonly openssl: boolean
  readonly kubectl: boolean
  readonly systemd: boolean
  readonly docker: boolean
  readonly natsServer: string | null
  readonly models: Models | null
}

export const NO_TOOLS: Tools = {
  bash: false,
  openssl: false,
  kubectl: false,
  systemd: false,
  docker: false,
  natsServer: null,
  models: null,
}

export function answers(program: string, words: readonly string[]): boolean {
  return spawnSync(program, [...words], { stdio: 'ignore' }).status === 0
}

type Found = { readonly faults: readonly Fault[]; readonly lines?: readonly CommandLine[] }

/** Returns the files of the folder, as paths from it. */
export function deployFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

/** @param about a file: only it is checked, and what reads it */
export async function checkFolder(
  folder: string,
  tools: Tools,
  cli: RealCli,
  about?: string,
): Promise<readonly Fault[]> {
  const found: Found[] = []
  for (const file of deployFiles(folder).filter((one) => isAbout(one, about)))
    found.push(await checkFile(folder, file, tools))
  const lines = found.flatMap(({ lines = [] }) => lines)
  return [
    ...found.flatMap(({ faults }) => faults),
    ...lines.flatMap((line) => {
      const text = cli.faultOf(line)
      return text === null
        ? []
        : [{ file: line.file, text: `${text}: ${[line.program, ...line.words].join(' ')}` }]
    }),
  ]
}

function isAbout(file: string, about: string | undefined): boolean {
  if (about === undefined || file === about) return true
  return about.startsWith('kubernetes/') && file.endsWith('/kustomization.yaml')
}

async function checkFile(folder: string, file: string, tools: Tools): Promise<Found> {
  const read = () => readFileSync(join(folder, file), 'utf8')
  const name = basename(file)
  if (name === 'Containerfile') return { faults: containerfileFaults(file, read()) }
  // A list of names, and none of them is needed.
  if (name.endsWith('.dockerignore')) return { faults: [] }
  if (name === 'README.md')
    return { faults: lostFaults(folder, file, read()), lines: commandLinesOfPage(file, read()) }
  if (name === 'secrets.sh' && tools.bash && tools.openssl)
    return { faults: [...scriptFaults(folder, file, true), ...secretsFaults(folder, file)] }
  if (name.endsWith('.sh'))
    return { faults: scriptFaults(folder, file, tools.bash), lines: commandLinesOf(file, read()) }
  if (name.endsWith('.env')) return { faults: variablesFaults(folder, file) }
  if (name === 'nats.conf') return { faults: natsFaults(folder, file, tools.natsServer) }
  if (name === 'nats-values.yaml') return { faults: valuesFaults(folder, file) }
  if (name.endsWith('.service')) return checkUnit(folder, file, tools.systemd)
  if (name === 'kustomization.yaml') return checkManifests(folder, dirname(file), tools)
  if (file.startsWith('compose/') && name.endsWith('.yaml')) return checkCompose(folder, file, tools.docker)
  if (file.startsWith('skypilot/')) return checkSkyTask(folder, file, tools.bash)
  if (file.startsWith('kubernetes/') && isResource(folder, file)) return { faults: [] }
  return { faults: [{ file, text: 'nothing checks this file' }] }
}

/** The kustomization beside it checks it. */
function isResource(folder: string, file: string): boolean {
  const kustomization = join(folder, dirname(file), 'kustomization.yaml')
  if (!existsSync(kustomization)) return false
  return new RegExp(`\\b${basename(file)}\\b`).test(readFileSync(kustomization, 'utf8'))
}

/** Files of the folder that a page names, and that are not there. */
function lostFaults(folder: string, file: string, text: string): readonly Fault[] {
  const named = [...text.matchAll(/integrations\/deploy\/([\w./-]*\w)/g)].map(([, path = '']) => path)
  return [...new Set(named)]
    .filter((path) => !/\/secrets(\/|$)/.test(path) && !existsSync(join(folder, path)))
    .map((path) => ({ file, text: `there is no ${path}` }))
}
