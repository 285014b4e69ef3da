import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RlError } from '../../errors.ts'
import { httpFetch } from '../../platform/http.ts'

export type Download = {
  readonly path: string
  /** 64 hexadecimal digits. */
  readonly sha256: string
  /** The checksum with which the file's was compared. */
  readonly trust:
    | 'as given with --sha256'
    | 'as recorded at the first download'
    | 'recorded now, compared with nothing'
}

/**
 * Fetches a file into a folder. An existing file is only checked. Its SHA-256 must be the given one, or the
 * one recorded beside it in FILE.sha256. If there is neither, it is recorded.
 * @throws RlError without a network, for a status other than 200, and for a wrong checksum, which keeps no
 * file
 */
export async function download(
  url: string,
  folder: string,
  { sha256: wanted }: { readonly sha256?: string } = {},
): Promise<Download> {
  if (wanted !== undefined && !/^[0-9a-f]{64}$/i.test(wanted))
    throw new RlError(`--sha256 is '${wanted}', expected 64 hexadecimal digits`, { code: 'cli.usage' })
  const path = join(folder, basename(new URL(url).pathname))
  const record = `${path}.sha256`
  const recorded = await readFile(record, 'utf8').then(
    (text) => text.slice(0, 64),
    () => undefined,
  )
  await mkdir(folder, { recursive: true })
  const existing = await sha256Of(path).catch(() => undefined)
  const partial = `${path}.${randomUUID()}.partial`
  const sha256 = existing ?? (await fetchFile(url, partial))
  const expected = wanted?.toLowerCase() ?? recorded
  if (expected !== undefined && sha256 !== expected) {
    await rm(partial, { force: true })
    throw new RlError(`${existing ? path : url} has the SHA-256 ${sha256}, expected ${expected}`, {
      code: 'alfworld.checksum',
      hint: existing
        ? 'delete the file to fetch it again'
        : 'the file was changed or the download was cut off',
    })
  }
  if (!existing) await rename(partial, path)
  if (recorded === undefined) await writeFile(record, `${sha256}  ${basename(path)}\n`)
  const trust = wanted
    ? 'as given with --sha256'
    : recorded
      ? 'as recorded at the first download'
      : 'recorded now, compared with nothing'
  return { path, sha256, trust }
}

async function fetchFile(url: string, target: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    const response = await httpFetch(url)
    if (!response.ok || !response.body) throw new Error(`the server answers ${response.status}`)
    const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
    body.on('data', (chunk: Buffer) => hash.update(chunk))
    await pipeline(body, createWriteStream(target))
    return hash.digest('hex')
  } catch (cause) {
    await rm(target, { force: true })
    throw new RlError(`${url} cannot be fetched: ${reason(cause)}`, {
      code: 'alfworld.download',
      hint: 'without a network, copy the file from elsewhere and give it as --data',
      cause,
    })
  }
}

const reason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message || error.message : error.message
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
