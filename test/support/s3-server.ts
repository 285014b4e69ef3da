/** A real S3 server on loopback: moto's, from the Python that RL_TEST_PYTHON names. */
import { createServer } from 'node:net'
import { type Started, startProgram } from './processes.ts'
import { lacks, PYTHON } from './python.ts'
import { until } from './run.ts'

/** Null if the server can be started; else the reason, for a SKIP. */
export const noS3 = (): string | null => lacks('moto.server', 'flask')

export type S3Server = { readonly url: string; readonly started: Started; readonly stop: () => Promise<void> }

/** @param env e.g. `INITIAL_NO_AUTH_ACTION_COUNT`, after which keys are checked */
export async function startS3(bucket: string, env: Readonly<Record<string, string>> = {}): Promise<S3Server> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const started = startProgram(PYTHON, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], env)
  const isThere = () =>
    fetch(`${url}/${bucket}`, { method: 'PUT' }).then(
      () => true,
      () => false,
    )
  await until('an S3 server', isThere)
  return {
    url,
    started,
    async stop() {
      started.process.kill('SIGTERM')
      await started.status
    },
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
