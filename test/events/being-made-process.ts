/** Makes a log at each path that it is sent. */
import { openLog } from '../../src/events/log.ts'

process.on('message', (path: string) => {
  openLog(path, { run: 'new', minFreeBytes: 0 }).close()
  process.send?.('made')
})
