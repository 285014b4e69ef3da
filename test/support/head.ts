/** Heads as a user starts them: processes of their own, which end with the test at the latest. */
import { type ChildProcess, spawn } from 'node:child_process'

export type Head = {
  readonly process: ChildProcess
  /** All that it has printed so far. */
  readonly output: () => string
  /** Of its exit; null where a signal ended it. */
  readonly status: Promise<number | null>
}

const heads = new Set<ChildProcess>()
process.once('exit', () => {
  for (const head of heads) head.kill('SIGKILL')
})

/** `npm start -- --role head` for a run below `root`; without settings an existing run goes on. */
export function startHead(root: string, run: string, settings: readonly string[] = []): Head {
  const words = settings.flatMap((setting) => ['--set', setting])
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'src/main.ts', '--role', 'head', '--run', run, ...words],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, RL_RUNS: root } },
  )
  heads.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const status = new Promise<number | null>((resolve) =>
    child.once('exit', (code) => {
      heads.delete(child)
      resolve(code)
    }),
  )
  return { process: child, output: () => output, status }
}
