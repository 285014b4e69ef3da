import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { download } from '../../../src/environments/alfworld/download.ts'

const CONTENT = Buffer.from('the games')
const SUM = createHash('sha256').update(CONTENT).digest('hex')

const server = createServer(({ url }, response) => {
  if (url === '/games.zip') response.end(CONTENT)
  else if (url === '/cut.zip')
    response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy())
  else response.writeHead(404).end()
})
let base = ''
let folder = ''
test.before(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'rl-download-'))
})
test.after.each(() => rmSync(folder, { recursive: true }))
test.after(() => {
  server.close()
})

test('the first download records its checksum and says that nothing verified it; a second is checked against it', async () => {
  const first = await download(`${base}/games.zip`, folder)
  assert.equal(first, {
    path: join(folder, 'games.zip'),
    sha256: SUM,
    trust: 'recorded now, compared with nothing',
  })
  assert.is(readFileSync(`${first.path}.sha256`, 'utf8'), `${SUM}  games.zip\n`)
  assert.is((await download(`${base}/games.zip`, folder)).trust, 'as recorded at the first download')
  assert.is((await download(`${base}/games.zip`, folder, { sha256: SUM })).trust, 'as given with --sha256')
})

test('a file that changed since is refused, and so is a download with another sum', async () => {
  await fails(`${base}/games.zip`, /has the SHA-256 .*, expected 0000/, '0'.repeat(64))
  assert.equal(readdirSync(folder), [], 'nothing is kept')
  const { path } = await download(`${base}/games.zip`, folder)
  writeFileSync(path, 'other')
  await fails(`${base}/games.zip`, /games\.zip has the SHA-256 .*, expected/)
  rmSync(path)
  writeFileSync(`${path}.sha256`, '1'.repeat(64))
  await fails(`${base}/games.zip`, /expected 1111/)
})

test('no server, no file, a broken answer, a sum of another form', async () => {
  await fails(`${base}/other.zip`, /cannot be fetched: the server answers 404/)
  await fails(`${base}/cut.zip`, /cannot be fetched/)
  await fails('http://127.0.0.1:1/games.zip', /cannot be fetched/)
  await fails(`${base}/games.zip`, /expected 64 hexadecimal digits/, 'abc')
  assert.not.ok(existsSync(join(folder, 'cut.zip')))
})

async function fails(url: string, message: RegExp, sha256?: string): Promise<void> {
  const error = await download(url, folder, { sha256 }).then(
    () => new Error('nothing was thrown'),
    (thrown) => thrown,
  )
  assert.match(error.message, message)
}

test.run()
