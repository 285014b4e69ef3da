import type { ActorRow } from './answers.ts'

type Host = { readonly host: string; readonly processes: number; readonly rssMb: number }

/** Returns the memory of processes by host, the fullest first. A process that is heard of twice counts once. */
export function hostsOf(actors: readonly ActorRow[]): readonly Host[] {
  const hosts = new Map<string, Map<number, number>>()
  for (const { host, pid, rssMb } of actors) {
    const processes = hosts.get(host) ?? new Map<number, number>()
    processes.set(pid, Math.max(rssMb, processes.get(pid) ?? 0))
    hosts.set(host, processes)
  }
  return [...hosts]
    .map(([host, processes]) => ({
      host,
      processes: processes.size,
      rssMb: [...processes.values()].reduce((sum, mb) => sum + mb, 0),
    }))
    .sort((a, b) => b.rssMb - a.rssMb)
}
