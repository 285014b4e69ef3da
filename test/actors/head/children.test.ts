/** The processes that a head starts, where the machine fails them: real processes, whose broker is a server that says nothing. */
import { spawnSync } from 'node:child_process'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openSmallDisk } from '../../../scripts/soak/small-disk.ts'
import { type ChildrenOptions, startChildren } from '../../../src/actors/head/children.ts'
import { temporaryFolder, until } from '../../support/run.ts'

const disk = openSmallDisk()
const silent = await new Promise<Server>((resolve) => {
  const server = createServer(() => {})
  server.listen(0, '127.0.0.1', () => resolve(server))
})
test.after(() => {
  disk.close()
  silent.close()
})

const deaf = (silent.address() as { port: number }).port

function options(given: Partial<ChildrenOptions>): ChildrenOptions {
  return {
    run: 'silent',
    folder: temporaryFolder(),
    apart: false,
    address: { url: `nats://127.0.0.1:${deaf}` },
    specs: [{ role: 'environment', worker: true }],
    onGone() {},
    onExit() {},
    onPrinted() {},
    silentMs: () => null,
    mostSilentMs: 600_000,
    mostStartMs: 600_000,
    ...given,
  }
}

/** What is said of the first process that ends. */
async function firstEnd(given: Partial<ChildrenOptions>): Promise<string> {
  let tell: (reason: string) => void = () => {}
  const told = new Promise<string>((resolve) => {
    tell = resolve
  })
  const children = startChildren(options({ ...given, onExit: ({ reason }) => tell(reason) }))
  const reason = await told
  await children.stop()
  return reason
}

test('a process that hangs before its first heartbeat is ended', async () => {
  assert.is(await firstEnd({ mostStartMs: 400 }), 'said nothing for 0 s and was ended')
})

test('a process that said that it leaves, and hangs, is ended', async () => {
  let looks = 0
  const silentMs = () => (looks++ === 0 ? 0 : null)
  assert.is(await firstEnd({ silentMs, mostSilentMs: 800 }), 'said nothing for 1 s and was ended')
})

test('a head that may open no more files says so, and tries again', () => {
  if (process.platform === 'win32') return console.log('SKIP limits of open files: Windows has none')
  const script = join(import.meta.dirname, 'few-files-process.ts')
  const words = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, script, temporaryFolder()]
  const { status, stdout, stderr } = spawnSync('sh', words, { encoding: 'utf8', timeout: 60_000 })
  assert.match(stdout, /^cannot be started: .*EMFILE: raise the limit of open files/, `${stdout}${stderr}`)
  assert.is(status, 0)
})

test('what processes print on a full disk is lost, and not the head', async () => {
  if (disk.skipped !== null) {
    process.stdout.write(`SKIP a full disk: ${disk.skipped}\n`)
    return
  }
  const giveBack = disk.fill()
  const printed: string[] = []
  // That is no address: each process says so, and ends.
  const children = startChildren(
    options({
      folder: join(disk.folder, 'run'),
      address: { url: 'ftp://127.0.0.1:1' },
      onExit: ({ reason }) => printed.push(reason),
    }),
  )
  await until('two have ended', () => printed.length > 1, 240_000)
  for (const reason of printed) assert.match(reason, /scheme 'ftp:'/)
  await children.stop()
  giveBack()
})

test.run()
