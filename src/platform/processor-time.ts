/** Processor time (ms) of this process since it began, in all its threads. Child processes are not in it. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return Math.round((user + system) / 1000)
}
