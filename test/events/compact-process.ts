/** Compacts a log and kills itself after so many steps, as a loss of power would. */
import { compactLog } from '../../src/events/compact.ts'

const [path, after] = process.argv.slice(2)
let steps = 0
compactLog(path, () => {
  if (++steps === Number(after)) process.kill(process.pid, 'SIGKILL')
})
