/**
 * A store of S3's kind (AWS, MinIO, R2, Ceph): bytes under their digest. Credentials come from the environment of each host, as
 * AWS's own tools read them, and stand in no address, file, event or error.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Clock, pause, systemClock } from '../clock.ts'
import { explain, RlError } from '../errors.ts'
import { openHttp } from './http.ts'

/** Names bytes, as blobs of a log are named. */
type StoredRef = { readonly sha256: string; readonly bytes: number }

export type ObjectStore = {
  /** Resolves once the store holds the bytes. */
  readonly putBlob: (bytes: Uint8Array) => Promise<StoredRef>
  /** Resolves to the bytes, compared with their digest. */
  readonly getBlob: (ref: StoredRef) => Promise<Uint8Array>
  readonly close: () => void
}

export type S3Options = {
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Time in which a store that is away, or that is too busy, must be back. */
  readonly deadlineMs?: number
  readonly clock?: Clock
}

/** Address of a store: a bucket, and the beginning of all names in it. */
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._-]+)*)\/?$/

const DEADLINE_MS = 120_000
/** One call of at most 32 MiB. */
const CALL_MS = 60_000
const MOST_PAUSE_MS = 5_000
/** Bytes of an error's body that are read. */
const ERROR_BYTES = 8_192

type Call = { readonly method: 'GET' | 'PUT'; readonly ref: StoredRef; readonly body?: Uint8Array }

/**
 * Opens a store. Nothing is asked yet.
 * @throws RlError `store.bad-url`, `store.no-credentials`
 * @example
 * const store = await openS3('s3://bucket/runs')
 * const ref = await store.putBlob(bytes)
 */
export async function openS3(address: string, options: S3Options = {}): Promise<ObjectStore> {
  const { env = process.env, deadlineMs = DEADLINE_MS, clock = systemClock } = options
  const [, bucket, path] = S3_URL.exec(address) ?? []
  if (bucket === undefined || path === undefined || /\/\.{1,2}(\/|$)/.test(path))
    throw new RlError(`${JSON.stringify(address).slice(0, 200)} is no address of a store`, {
      code: 'store.bad-url',
      hint: 'write s3://BUCKET or s3://BUCKET/PREFIX; AWS_ENDPOINT_URL names a server other than AWS',
    })
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = env
  if (accessKeyId === '' || secretAccessKey === '')
    throw new RlError(`the store ${address} needs a key, and none is in the environment`, {
      code: 'store.no-credentials',
      hint: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY on each host (and AWS_SESSION_TOKEN if there is one)',
    })
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1'
  const server = serverOf(env, region)
  const http = openHttp()
  const { AwsV4Signer } = await import('aws4fetch')

  const urlOf = ({ sha256 }: StoredRef) => new URL(`${server}/${bucket}${path}/${sha256}`)
  const named = ({ sha256 }: StoredRef) => `${sha256} in ${address} at ${server}`

  async function send({ method, ref, body }: Call): Promise<IncomingMessage> {
    const signed = await new AwsV4Signer({
      ...{ method, url: urlOf(ref).href, service: 's3', region, accessKeyId, secretAccessKey },
      ...(env.AWS_SESSION_TOKEN ? { sessionToken: env.AWS_SESSION_TOKEN } : {}),
      headers: { 'x-amz-content-sha256': body === undefined ? EMPTY : ref.sha256 },
    }).sign()
    const headers: Record<string, string | number> = Object.fromEntries(signed.headers)
    if (body !== undefined) headers['content-length'] = body.byteLength
    const signal = AbortSignal.timeout(CALL_MS)
    return http.send(urlOf(ref), { method, headers, signal, ...(body === undefined ? {} : { body }) })
  }

  /** Calls until the store answers with success. Only what may pass by itself is tried again. */
  async function call<T>(asked: Call, read: (answer: IncomingMessage) => Promise<T>): Promise<T> {
    const until = clock.monotonic() + deadlineMs
    for (let attempt = 0; ; attempt++) {
      let trouble: unknown
      try {
        const answer = await send(asked)
        const status = answer.statusCode ?? 0
        if (status === 200) return await read(answer)
        const word = await errorWord(answer)
        if (status < 500 && status !== 429 && status !== 408) throw refusal(status, word, asked.ref)
        trouble = new Error(`status ${status}${word}`)
      } catch (error) {
        if (error instanceof RlError && error.code.startsWith('store.')) throw error
        trouble = error
      }
      const waitMs = Math.min(MOST_PAUSE_MS, 100 * 2 ** attempt)
      if (clock.monotonic() + waitMs > until)
        throw new RlError(
          `the store did not answer within ${Math.round(deadlineMs / 1000)} s: ${named(asked.ref)}: ${explain(trouble)}`,
          {
            code: 'store.unreachable',
            hint: `is ${server} there, and reached from this host? AWS_ENDPOINT_URL names another server`,
          },
        )
      await pause(waitMs, undefined, clock)
    }
  }

  function refusal(status: number, word: string, ref: StoredRef): RlError {
    if (status === 404)
      return new RlError(`the store has no ${named(ref)}${word}`, {
        code: 'store.missing',
        hint: 'was it removed there, or is it another bucket? run.store of the config names it',
      })
    return new RlError(`the store refused ${named(ref)}: status ${status}${word}`, {
      code: 'store.refused',
      hint: 'may this key get and put objects in the bucket? AWS_REGION must be that of the bucket',
    })
  }

  function checked(bytes: Uint8Array, ref: StoredRef): Uint8Array {
    if (bytes.byteLength === ref.bytes && digestOf(bytes) === ref.sha256) return bytes
    throw new RlError(`the store gave other bytes than those of ${named(ref)}`, {
      code: 'store.corrupt',
      hint: 'somebody wrote over the object, or removed a part of it: put the version in anew, or restore the bucket',
    })
  }

  return {
    async putBlob(bytes) {
      const ref = { sha256: digestOf(bytes), bytes: bytes.byteLength }
      await call(
        { method: 'PUT', ref, body: bytes },
        async (answer) => void (await bodyOf(answer, ERROR_BYTES)),
      )
      return ref
    },
    getBlob: (ref) =>
      call({ method: 'GET', ref }, async (answer) => checked(await bodyOf(answer, ref.bytes), ref)),
    close: http.close,
  }
}

const EMPTY = digestOf(new Uint8Array())

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function serverOf(env: NonNullable<S3Options['env']>, region: string): string {
  const given = env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL
  if (!given) return `https://s3.${region}.amazonaws.com`
  const url = URL.canParse(given) ? new URL(given) : null
  if (url && /^https?:$/.test(url.protocol) && url.username === '')
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  throw new RlError('AWS_ENDPOINT_URL is no http address without a user', {
    code: 'store.bad-url',
    hint: 'write e.g. https://minio.example:9000; keys have variables of their own',
  })
}

/** Reads a body. It stops one byte after the most that is expected, so that more is seen to be wrong. */
async function bodyOf(answer: IncomingMessage, most: number): Promise<Uint8Array> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of answer as AsyncIterable<Buffer>) {
    parts.push(part)
    bytes += part.byteLength
    if (bytes > most) break
  }
  return Buffer.concat(parts).subarray(0, most + 1)
}

/** Returns the store's own word for an error, e.g. ` (NoSuchKey)`. The rest of such a body may name keys. */
async function errorWord(answer: IncomingMessage): Promise<string> {
  const text = Buffer.from(await bodyOf(answer, ERROR_BYTES)).toString()
  const [, word] = /<Code>(\w{1,64})<\/Code>/.exec(text) ?? []
  return word === undefined ? '' : ` (${word})`
}
