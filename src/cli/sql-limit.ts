/** A thread that ends its process after some time, also if the main thread never gets its turn. */
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

const { seconds } = workerData as { readonly seconds: number }
setTimeout(() => {
  writeSync(2, `rl: the statement took more than ${seconds} s - see --timeout\n`)
  process.kill(process.pid, 'SIGKILL')
}, seconds * 1000)
