/** Servers and sidecars that hang, die, flood, lie, speak another version or send 100 MB, played through the port. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/config.ts'
import { openSetting } from '../../src/environments/open.ts'
import { itemAt } from '../../src/item-at.ts'
import { ATTACKS, startGuessServer } from '../../test/support/openenv-server.ts'

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
const MOST_STEPS = 10_000
/** Time after which what is still there counts as left behind, ms. */
const GONE_MS = 10_000
/** A word of the child that a sidecar sets free. */
const ORPHAN = '7654321'

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
  const limit = (attack: string) => (attack === 'hang' ? 1 : 60)
  for (const attack of ATTACKS) {
    const server = await startGuessServer({ attack })
    const own = [`openenv.url=${server.url}`, `openenv.timeoutSeconds=${limit(attack)}`]
    await count(`openenv ${attack}`, ['name=openenv', ...own], server.sessions)
    await server.close()
  }
  for (const attack of SIDECAR_ATTACKS) {
    const python = JSON.stringify([process.execPath, BAD, attack])
    const own = [`gym.python=${python}`, `gym.timeoutSeconds=${limit(attack)}`]
    await count(`gym ${attack}`, ['name=gym', ...own], () => sidecarsOf(attack))
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

function sidecarsOf(attack: string): number {
  if (process.platform !== 'linux') return 0
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return (words.includes(BAD) && words.includes(attack)) || words.includes(ORPHAN)
    } catch {
      return false // It has ended.
    }
  }).length
}
