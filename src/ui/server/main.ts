/** The process of the pages. A head starts it at the first connection, and gives it the sockets. */
import '../../setting-packages.ts'
import type { Socket } from 'node:net'
import { setPriority } from 'node:os'
import { adopt } from '../../platform/listen.ts'
import { pageApp } from './app.ts'
import type { PagesSaid, PagesStart } from './door.ts'
import { openJobs } from './jobs.ts'
import { openListeners } from './live.ts'
import { openRuns } from './open-runs.ts'
import { openSession } from './session.ts'

function say(said: PagesSaid): void {
  // A head that is gone hears nothing.
  if (process.connected) process.send?.(said, () => {})
}

/** Serves the sockets that come. */
function serve({ secrets, used, port, idleMs }: PagesStart): (socket: Socket) => void {
  const [runs, listeners, jobs] = [openRuns(), openListeners(), openJobs()]
  const session = openSession({ secrets, used, port: () => port, onUsed: () => say('used') })
  const { take } = adopt(pageApp({ session, runs, listeners, jobs }), { host: '127.0.0.1', unread: 'end' })
  process.once('exit', jobs.close)
  let open = 0
  let idle: NodeJS.Timeout | undefined
  return (socket) => {
    clearTimeout(idle)
    open++
    say('taken')
    socket.once('close', () => {
      open--
      say('ended')
      if (open === 0) idle = setTimeout(() => say('idle'), idleMs)
    })
    take(socket)
  }
}

// The run goes first.
setPriority(10)
let take: ((socket: Socket) => void) | null = null
process.on('message', (message: unknown, handle: unknown) => {
  if (take === null) take = serve(message as PagesStart)
  else if (handle) take(handle as Socket)
  else {
    // Its browser left before it came.
    say('taken')
    say('ended')
  }
})
// The head asks for the end by leaving, and Ctrl-C is the head's.
process.on('disconnect', () => process.exit(0))
process.on('SIGINT', () => {})
