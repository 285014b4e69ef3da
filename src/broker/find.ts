/** Where programs and libraries come from that npm does not carry: the PATH, the project's cache folder, or set-up. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A file of this name on the PATH (and where services live) that may be run, or null. */
export function onPath(program: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return (
    folders
      .filter((folder) => folder !== '')
      .map((folder) => join(folder, program))
      .find(isProgram) ?? null
  )
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export async function findNatsServer(): Promise<string> {
  return onPath('nats-server') ?? 'nats-server'
}
