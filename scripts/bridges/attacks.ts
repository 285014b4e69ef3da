/** Servers and sidecars that hang, die, flood, lie, speak another version or send 100 MB, played through the port. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/config.ts'
import { openSetting } from '../../src/environments/open.ts'
import { itemAt } from '../../src/item-at.ts'
import { HTTP_ATTACKS, startCounterServer } from '../../test/support/counter-http.ts'
import { ATTACKS, startGuessServer } from '../../test/support/openenv-server.ts'
import { ORS_ATTACKS, startOrsServer } from '../../test/support/ors-server.ts'

const BAD = fileURLToPath(new URL('../../test/support/bad-sidecar.mjs', import.meta.url))
const SIDECAR_ATTACKS = [
  'hang',
  'die',
  'orphan',
  'no-json',
  'large',
  'lie-reward',
  'lie-done',
  'other-version',
  'flood',
]
const COUNTER = fileURLToPath(new URL('../../test/support/counter-mcp.mjs', import.meta.url))
const PROGRAM_ATTACKS = [
  ...['hang', 'die', 'orphan', 'flood', 'pings', 'nonsense', 'no-json', 'large', 'endless', 'lie-result'],
  ...['other-version', 'pages', 'hang-start', 'die-start'],
]
const MOST_STEPS = 10_000
/** Time after which what is still there counts as left behind, ms. */
const GONE_MS = 10_000
/** Words of the children that a sidecar and a server set free. */
const ORPHANS = ['7654321', '7654322']

export type Attacked = { readonly attacks: number; readonly contained: number; readonly leftBehind: number }

export async function attackBridges(): Promise<Attacked> {
  const result = { attacks: 0, contained: 0, leftBehind: 0 }
  const count = async (name: string, set: readonly string[], left: () => number) => {
    result.attacks++
    const fault = await faultOf(set)
    const leftBehind = await remaining(left)
    if (fault !== null) result.contained++
    result.leftBehind += leftBehind
    process.stdout.write(`${name}: ${fault ?? 'no fault was told'}, ${leftBehind} left behind\n`)
  }
  const limit = (attack: string) => (attack.startsWith('hang') ? 1 : 60)
  for (const attack of ATTACKS) {
    const server = await startGuessServer({ attack })
    const own = [`openenv.url=${server.url}`, `openenv.timeoutSeconds=${limit(attack)}`]
    await count(`openenv ${attack}`, ['name=openenv', ...own], server.sessions)
    await server.close()
  }
  for (const attack of SIDECAR_ATTACKS) {
    const python = JSON.stringify([process.execPath, BAD, attack])
    const own = [`gym.python=${python}`, `gym.timeoutSeconds=${limit(attack)}`]
    await count(`gym ${attack}`, ['name=gym', ...own], () => processesOf(BAD, attack))
  }
  const mcp = (server: object, attack: string) => [
    ...['name=mcp', 'mcp.acting=choices', `mcp.timeoutSeconds=${limit(attack)}`],
    `mcp.servers=${JSON.stringify({ counter: server })}`,
    'mcp.checker={tool: read, equals: {count: 3}}',
  ]
  for (const attack of PROGRAM_ATTACKS) {
    const program = { command: [process.execPath, COUNTER, attack] }
    await count(`mcp ${attack}`, mcp(program, attack), () => processesOf(COUNTER, attack))
  }
  for (const attack of HTTP_ATTACKS) {
    const server = await startCounterServer({ attack })
    await count(`mcp by HTTP ${attack}`, mcp({ url: server.url }, attack), server.sessions)
    await server.close()
  }
  for (const attack of ORS_ATTACKS) {
    const server = await startOrsServer({ attack })
    const own = [`ors.url=${server.url}`, 'ors.acting=choices', `ors.timeoutSeconds=${limit(attack)}`]
    await count(`ors ${attack}`, ['name=ors', ...own], server.sessions)
    await server.close()
  }
  return result
}

/** Resolves to the code of the fault of an episode, or to null if there was none. */
async function faultOf(set: readonly string[]): Promise<string | null> {
  const alone = ['rewardModel.mode=off', 'learning.reward=outcome']
  const { environment } = await openSetting(
    loadConfig({ set: [...set.map((one) => `environment.${one}`), ...alone] }),
  )
  try {
    const task = itemAt(await environment.tasks('train'), 0)
    let episode = await environment.reset(task, { seed: [1, 2], maxSteps: MOST_STEPS })
    while (!episode.turn.done) episode = await episode.step(itemAt(episode.turn.admissible, 0))
    return null
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : null
  } finally {
    await environment.close?.()
  }
}

async function remaining(left: () => number): Promise<number> {
  const end = Date.now() + GONE_MS
  while (left() > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50))
  return left()
}

function processesOf(program: string, attack: string): number {
  if (process.platform !== 'linux') return 0
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return (words.includes(program) && words.includes(attack)) || ORPHANS.some((one) => words.includes(one))
    } catch {
      return false // It has ended.
    }
  }).length
}
