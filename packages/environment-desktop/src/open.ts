/** The environment as a config asks for it: desktops of this machine, or behind servers. */

import { type Config, generatedCounts } from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import type { Computer } from './computer.ts'
import { type DesktopEnvironment, desktopEnvironment } from './environment.ts'
import { openDesktop } from './local/desktop.ts'
import { isOnDesktops, programPath } from './local/sandbox.ts'
import { openClient } from './osworld/client.ts'
import type { DesktopSection } from './section.ts'
import { KINDS } from './tasks/index.ts'

/** Programs of our tasks that are here. */
export function programsHere(): readonly string[] {
  return [...new Set(KINDS.flatMap(({ programs }) => programs))].filter((name) => programPath(name) !== null)
}

export function openEnvironment(
  config: Pick<Config, 'environment' | 'evaluation'>,
  { desktops, servers, programs, grammar }: DesktopSection,
): DesktopEnvironment {
  const { source, data, seed } = config.environment
  const counts = generatedCounts(config)
  const [open, size] =
    servers.length > 0 ? [fromServers(servers), servers.length] : [() => openDesktop(), desktops]
  return desktopEnvironment({
    source:
      source === 'data'
        ? { kind: 'folder', path: data ?? '', program: servers.length > 0 ? null : isOnDesktops }
        : {
            kind: 'own',
            seed,
            programs: programs ?? programsHere(),
            counts: (split) => (counts as Readonly<Record<string, number>>)[split] ?? 0,
          },
    grammar,
    open,
    desktops: size,
    describe: servers.length > 0 ? `${size} servers` : `${size} local desktops at most`,
  })
}

/** Gives out servers in turn. Each is reset to its start when it is taken. */
function fromServers(urls: readonly string[]): () => Promise<Computer> {
  const free = [...urls]
  return async () => {
    const url = free.shift()
    if (url === undefined) throw new RlError('no server is free', { code: 'desktop.none' })
    const client = openClient({ url })
    try {
      await client.reset()
    } catch (cause) {
      free.push(url)
      throw cause
    }
    return { ...client, close: async () => void free.push(url) }
  }
}
