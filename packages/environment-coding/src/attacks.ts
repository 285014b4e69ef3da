/**
 * Hostile programs that a sandbox must contain, and that no test may reward. A program that gets through
 * prints ESCAPED, and nothing else prints that. Each is run more than once, because one run may leave a note
 * for the next.
 */
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import type { Attack } from './attack.ts'
import { CPP_ATTACKS } from './attacks-cpp.ts'
import { JAVASCRIPT_ATTACKS } from './attacks-javascript.ts'
import { KERNEL_ATTACKS } from './attacks-kernel.ts'
import { PYTHON_ATTACKS } from './attacks-python.ts'

/** Programs name their targets: PORT, SECRET_NAME, HOST_HOME. `attackGround` puts in the real values. */
export const ATTACKS: readonly Attack[] = [
  ...PYTHON_ATTACKS,
  ...KERNEL_ATTACKS,
  ...JAVASCRIPT_ATTACKS,
  ...CPP_ATTACKS,
]

/** A variable of this process that a program must not read. */
const SECRET = 'RL_ATTACK_SECRET'

/**
 * Returns the attacks with real targets: a server of this machine, a secret, and the home folder of the user.
 */
export async function attackGround(): Promise<{
  readonly attacks: readonly Attack[]
  /** Number of times that the server was reached. */
  readonly reached: () => number
  readonly close: () => Promise<void>
}> {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 9
  process.env[SECRET] = 'a secret'
  return {
    attacks: ATTACKS.map((attack) => ({
      ...attack,
      program: attack.program
        .replaceAll('PORT', String(port))
        .replaceAll('SECRET_NAME', SECRET)
        .replaceAll('HOST_HOME', homedir()),
    })),
    reached: () => connections,
    async close() {
      delete process.env[SECRET]
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
