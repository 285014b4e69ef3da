/** Runs one example: the commands of its README, word for word. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Project } from './project.ts'

export type ExampleResult = 'ok' | 'failed' | 'skipped'

const DEADLINE_MS = 600_000

/** Needs of an example that may be absent. Each returns the reason why it cannot run, or null. */
const NEEDS: Readonly<Record<string, () => string | null>> = {
  'subscriber-python': () => pythonWithout('nats', 'msgpack'),
  'subscriber-go': () => (spawnSync('go', ['version']).status === 0 ? null : 'there is no go'),
}

/** Examples that need nothing but the package. Those of agents need SDKs: scripts/example/agents.ts. */
export function exampleNames(): string[] {
  return readdirSync('examples').filter(
    (name) => name !== 'agents' && existsSync(join('examples', name, 'README.md')),
  )
}

/** Runs an example in a project that has the package. Its output goes to standard output. */
export async function runExample(name: string, { folder, env }: Project): Promise<ExampleResult> {
  const lacking = NEEDS[name]?.()
  if (lacking) {
    process.stdout.write(`SKIP ${name}: ${lacking}\n`)
    return 'skipped'
  }
  process.stdout.write(`\n${name}\n`)
  const startedMs = performance.now()
  const status = await runShell(commandsOf(name), folder, env)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  process.stdout.write(`${status === 0 ? 'ok  ' : 'FAIL'} ${name}  ${seconds} s\n`)
  if (status === 0) return 'ok'
  for (const file of readdirSync(folder).filter((file) => file.endsWith('.log')))
    process.stdout.write(`${file}: ${readFileSync(join(folder, file), 'utf8').slice(-2_000)}\n`)
  return 'failed'
}

function commandsOf(name: string): string {
  const readme = readFileSync(join('examples', name, 'README.md'), 'utf8')
  const [, commands] = /```sh\n([\s\S]*?)```/.exec(readme) ?? []
  if (commands === undefined) throw new Error(`examples/${name}/README.md has no block of commands`)
  return commands
}

/**
 * Resolves to the status of a bash script. It has its own process group, so whatever it leaves running is
 * ended with it.
 */
async function runShell(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<number | null> {
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  })
  const end = () => {
    try {
      process.kill(-(shell.pid ?? 0), 'SIGTERM')
    } catch {
      // Nothing is left of it.
    }
  }
  const deadline = setTimeout(end, DEADLINE_MS)
  const stopped = (signal: NodeJS.Signals) => {
    end()
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stopped)
  try {
    return await new Promise((resolve, reject) => shell.once('exit', resolve).once('error', reject))
  } finally {
    clearTimeout(deadline)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stopped)
    end()
  }
}

function pythonWithout(...modules: readonly string[]): string | null {
  const python = process.env.PYTHON ?? 'python3'
  if (spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0) return null
  return `${python} has no ${modules.join(' or ')}; PYTHON names another`
}
