/** Fetching from a server on loopback with the hub's routes. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { describeHubModel, fetchHubModel, type HubOptions, isHubName } from '../../src/models/hub.ts'
import { describeCopy, fetchCopy, hubFolder, hubOptions, modelPlace } from '../../src/models/hub-folder.ts'
import { readModelFolder } from '../../src/models/local/model-folder.ts'
import { processText, THIS_PROCESS } from '../../src/platform/process-id.ts'
import { errorOf } from '../support/error-of.ts'
import { until } from '../support/run.ts'

const root = mkdtempSync(join(tmpdir(), 'hub-'))
const WEIGHTS = Buffer.alloc(300_000, 'weights ')
const TOOL_TEMPLATE = 'additional_chat_templates/tool_use.jinja'
const FILES: Readonly<Record<string, Buffer>> = {
  'config.json': Buffer.from('{"model_type": "qwen2"}'),
  'tokenizer.json': Buffer.from('{}'),
  'README.md': Buffer.from('about it'),
  'model.safetensors': WEIGHTS,
  'pytorch_model.bin': Buffer.from('never asked for'),
  [TOOL_TEMPLATE]: Buffer.from('{{ tools }}'),
  'additional_chat_templates/rag.jinja': Buffer.from('never read'),
  'additional_chat_templates/../../config.json': Buffer.from('never written'),
  'below/config.json': Buffer.from('never read'),
  '../outside.json': Buffer.from('never written'),
  [`../${TOOL_TEMPLATE}`]: Buffer.from('never written'),
}
const sha = (kind: 'sha1' | 'sha256', ...parts: (string | Buffer)[]) => {
  const hash = createHash(kind)
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** What the next file request gets in place of its answer. */
let spoil: ((response: ServerResponse, body: Buffer) => boolean) | null = null
let asked: IncomingMessage[] = []
let licence = 'apache-2.0'

const server = createServer((request, response) => {
  asked.push(request)
  const url = new URL(request.url ?? '', 'http://hub')
  if (url.pathname === '/api/models/own/silent/revision/main') {
    response.writeHead(200).write('{"sha": ')
    return
  }
  if (url.pathname === '/api/models/own/gated/revision/main') {
    response.writeHead(401).end()
    return
  }
  if (url.pathname === '/api/models/own/endless/revision/main') {
    const more = () => {
      while (!response.destroyed && response.write(WEIGHTS));
    }
    response.writeHead(200).on('drain', more)
    more()
    return
  }
  if (/^\/api\/models\/(?:own\/small|rl-test-owner\/broken)\/revision\/(?:main|v1)$/.test(url.pathname)) {
    const siblings = Object.entries(FILES).map(([rfilename, body]) => ({
      rfilename,
      size: body.length,
      blobId: sha('sha1', `blob ${body.length}\0`, body),
      ...(body === WEIGHTS ? { lfs: { sha256: sha('sha256', body), size: body.length } } : {}),
    }))
    const listing = { sha: 'abcdef1234', cardData: { license: licence }, siblings }
    response.end(JSON.stringify(listing))
    return
  }
  const [, file] = /^\/own\/small\/resolve\/abcdef1234\/(.+)$/.exec(url.pathname) ?? []
  const body = file === undefined ? undefined : FILES[file]
  if (!body) {
    response.writeHead(404).end()
    return
  }
  if (spoil?.(response, body)) return
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  response.writeHead(from > 0 ? 206 : 200, { 'content-length': body.length - from })
  response.end(body.subarray(from))
})

let options: HubOptions

test.before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  options = { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'hub-word' }
})
test.before.each(() => {
  spoil = null
  asked = []
})
test.after(() => {
  server.closeAllConnections()
  server.close()
  rmSync(root, { recursive: true })
})

const partOf = (folder: string, digest: string, owner: number, place = THIS_PROCESS.place) => {
  const { start } = THIS_PROCESS
  const writer = processText({ place, pid: owner, start: owner === process.pid ? start : '' })
  return join(folder, `.model.safetensors.${digest.slice(0, 16)}.${writer}.part`)
}

const messageOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof RlError ? `${error.code}: ${error.message}` : `not ours: ${error}`),
  )

test('a folder is fetched: what a model is read from, with digests checked, and nothing outside of it', async () => {
  const model = await describeHubModel('own/small', options)
  assert.is(model.licence, 'apache-2.0')
  assert.equal(
    model.files.map(({ path }) => path),
    ['config.json', 'tokenizer.json', 'README.md', TOOL_TEMPLATE, 'model.safetensors'],
  )
  const folder = join(root, 'whole')
  let last = 0
  await fetchHubModel(model, folder, options, ({ bytes }) => {
    last = bytes
  })
  assert.is(last, WEIGHTS.length)
  assert.equal(readdirSync(folder, { recursive: true }).sort(), [
    'README.md',
    dirname(TOOL_TEMPLATE),
    TOOL_TEMPLATE,
    'config.json',
    'model.safetensors',
    'tokenizer.json',
  ])
  assert.equal(readFileSync(join(folder, 'model.safetensors')), WEIGHTS)
  assert.ok(asked.every(({ headers }) => headers.authorization === 'Bearer hub-word'))
  const before = asked.length
  await fetchHubModel(model, folder, options, () => {})
  assert.is(asked.length, before, 'nothing is fetched twice')
})

test('what was broken off goes on where it ended', async () => {
  const model = await describeHubModel('own/small', options)
  const folder = join(root, 'resumed')
  spoil = (response, body) => {
    if (body !== WEIGHTS) return false
    spoil = null
    response.writeHead(200, { 'content-length': body.length })
    response.write(body.subarray(0, 100_000))
    const begun = () =>
      readdirSync(folder).some(
        (name) => name.startsWith('.model.safetensors') && statSync(join(folder, name)).size > 0,
      )
    void until('some bytes of it in a file', begun).then(() => response.socket?.end())
    return true
  }
  assert.match(await messageOf(fetchHubModel(model, folder, options, () => {})), /model\.hub.*broke off at/)
  assert.not.ok(readdirSync(folder).includes('model.safetensors'))
  await fetchHubModel(model, folder, options, () => {})
  assert.match(asked.at(-1)!.headers.range ?? '', /^bytes=[1-9]\d*-$/)
  assert.equal(readFileSync(join(folder, 'model.safetensors')), WEIGHTS)
})

test('what another process left behind goes on as well, unless it still fetches', async () => {
  const model = await describeHubModel('own/small', options)
  const ended = spawnSync(process.execPath, ['-e', '']).pid
  const elsewhere = '0000000000000000'
  for (const [owner, place, silent, goesOn] of [
    [ended, THIS_PROCESS.place, false, true],
    [process.ppid, THIS_PROCESS.place, false, false],
    // Of a container: its number is free here, and nobody can look whether it lives.
    [ended, elsewhere, false, false],
    [ended, elsewhere, true, true],
  ] as const) {
    const folder = join(root, `left-by-${owner}-${place}-${silent}`)
    mkdirSync(folder)
    const part = partOf(folder, sha('sha256', WEIGHTS), owner, place)
    writeFileSync(part, WEIGHTS.subarray(0, 200_000))
    if (silent) utimesSync(part, 1, 1)
    await fetchHubModel(model, folder, options, () => {})
    assert.is(asked.at(-1)!.headers.range, goesOn ? 'bytes=200000-' : undefined)
    assert.equal(readFileSync(join(folder, 'model.safetensors')), WEIGHTS)
  }
})

test('what was left behind of another revision does not go on, and does not stay', async () => {
  const model = await describeHubModel('own/small', options)
  const folder = join(root, 'moved')
  mkdirSync(folder)
  for (const owner of [spawnSync(process.execPath, ['-e', '']).pid, process.pid])
    writeFileSync(partOf(folder, sha('sha256', 'of another revision'), owner), 'of another revision')
  await fetchHubModel(model, folder, options, () => {})
  assert.is(asked.at(-1)!.headers.range, undefined)
  assert.equal(
    readdirSync(folder).filter((name) => name.endsWith('.part')),
    [],
  )
})

test('a full disk is told as one, and what has come stays', async () => {
  if (!existsSync('/dev/full')) return
  const model = await describeHubModel('own/small', options)
  const folder = join(root, 'full')
  mkdirSync(folder)
  const part = partOf(folder, sha('sha256', WEIGHTS), process.pid)
  symlinkSync('/dev/full', part)
  const error = await fetchHubModel(model, folder, options, () => {}).catch((error: unknown) => error)
  assert.match((error as RlError).message, /model\.safetensors broke off at 0 of 300000 bytes: ENOSPC/)
  assert.match((error as RlError).hint ?? '', /the disk is full/)
  assert.ok(existsSync(part))
})

test('a server without ranges sends the whole again', async () => {
  const model = await describeHubModel('own/small', options)
  const folder = join(root, 'no-ranges')
  mkdirSync(folder)
  writeFileSync(partOf(folder, sha('sha256', WEIGHTS), process.pid), 'something else')
  spoil = (response, body) => {
    if (body !== WEIGHTS) return false
    response.writeHead(200, { 'content-length': body.length }).end(body)
    return true
  }
  await fetchHubModel(model, folder, options, () => {})
  assert.equal(readFileSync(join(folder, 'model.safetensors')), WEIGHTS)
})

test('the token goes to the hub alone, not to where it sends for a file', async () => {
  const elsewhere: IncomingMessage[] = []
  const store = createServer((request, response) => {
    elsewhere.push(request)
    response.end(WEIGHTS)
  })
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve))
  const { port } = store.address() as AddressInfo
  spoil = (response, body) => {
    if (body !== WEIGHTS) return false
    response.writeHead(302, { location: `http://127.0.0.1:${port}/blob` }).end()
    return true
  }
  const model = await describeHubModel('own/small', options)
  await fetchHubModel(model, join(root, 'redirected'), options, () => {})
  store.close()
  assert.is(elsewhere.length, 1)
  assert.is(elsewhere[0].headers.authorization, undefined)
})

test('a host that the hub sends to is named when it fails, with the reason and no query', async () => {
  const store = createServer((_, response) => response.writeHead(403).end())
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve))
  const { port } = store.address() as AddressInfo
  spoil = (response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${port}/blob?key=secretsecret` }).end()
    return true
  }
  const model = await describeHubModel('own/small', options)
  const failure = () => fetchHubModel(model, join(root, 'sent-on'), options, () => {}).catch(String)
  const refused = await failure()
  assert.match(refused ?? '', new RegExp(`redirects to 127.0.0.1:${port}, which answers 403`))
  store.closeAllConnections()
  await new Promise((resolve) => store.close(resolve))
  const gone = (await failure()) ?? ''
  assert.match(gone, new RegExp(`redirects to 127.0.0.1:${port}, which cannot be reached: .*ECONNREFUSED`))
  assert.not.match(`${refused} ${gone}`, /secretsecret/)
  spoil = (response) => {
    response.writeHead(302, { location: '?' }).end()
    return true
  }
  assert.match((await failure()) ?? '', /redirects more than 10 times/)
})

test('other bytes than the listed ones are refused and not kept', async () => {
  const model = await describeHubModel('own/small', options)
  const folder = join(root, 'forged')
  spoil = (response, body) => {
    if (body !== WEIGHTS) return false
    response.writeHead(200).end(Buffer.alloc(body.length, 'forged'))
    return true
  }
  assert.match(await messageOf(fetchHubModel(model, folder, options, () => {})), /size or digest differ/)
  assert.not.ok(readdirSync(folder).some((name) => name.includes('model.safetensors')))
})

test('a server that falls silent is not waited for', async () => {
  const model = await describeHubModel('own/small', options)
  spoil = (response, body) => {
    response.writeHead(200, { 'content-length': body.length }).write(body.subarray(0, 1))
    return true
  }
  const silent = fetchHubModel(model, join(root, 'silent'), { ...options, silenceMs: 50 }, () => {})
  assert.match(await messageOf(silent), /no data for|no answer within/)
})

test('a list of files that stops, or never ends, is not waited for', async () => {
  const soon = { ...options, silenceMs: 500 }
  assert.match(
    await messageOf(describeHubModel('own/silent', soon)),
    /model\.hub: own\/silent: .* (?:was cut off: no data for|no answer within)/,
  )
  assert.match(
    await messageOf(describeHubModel('own/endless', options)),
    /model\.hub: own\/endless: .* more than 32 MB/,
  )
})

test('a hub that is busy is asked again, and is told as busy in the end', async () => {
  const folder = join(root, 'busy')
  const model = await describeHubModel('own/small', options)
  let busy = 2
  spoil = (response) => {
    if (busy-- <= 0) return false
    response.writeHead(busy === 1 ? 429 : 503, { 'retry-after': '0' }).end()
    return true
  }
  await fetchHubModel(model, folder, options, () => {})
  busy = 3
  const failed = fetchHubModel(model, join(root, 'ill'), options, () => {})
  const error = (await failed.catch((error: unknown) => error)) as RlError
  assert.match(`${error.message} ${error.hint}`, /answers 503 the hub is busy or ill/)
})

test('what a hub says of its licence is printable', async () => {
  licence = '\u001b[2Jmit\n\u0007'
  assert.is((await describeHubModel('own/small', options)).licence, '?[2Jmit??')
  licence = 'apache-2.0'
})

test('secrets of the environment are refused by name and never shown', () => {
  for (const [env, named] of [
    [{ HF_TOKEN: 'hf_secretsecret\nsecond' }, /^HF_TOKEN has/],
    [{ HF_TOKEN: 'hf_secretsecret\u20ac' }, /^HF_TOKEN has/],
    [{ HF_ENDPOINT: 'http://me:secretsecret@127.0.0.1:1' }, /^HF_ENDPOINT holds a user/],
    [{ HF_ENDPOINT: 'ftp://me:secretsecret@127.0.0.1' }, /^HF_ENDPOINT holds a user/],
    [{ HF_ENDPOINT: 'me:secretsecret@127.0.0.1' }, /^HF_ENDPOINT holds a user/],
    [{ HF_ENDPOINT: 'http://me:7/secretsecret@127.0.0.1' }, /^HF_ENDPOINT holds a user/],
    [{ HF_ENDPOINT: 'http://127.0.0.1/?key=secretsecret' }, /^HF_ENDPOINT holds a query/],
    [{ HF_ENDPOINT: 'localhost:8000' }, /^HF_ENDPOINT is 'localhost:8000'/],
  ] as const) {
    assert.throws(
      () => hubOptions(env),
      (error: RlError) =>
        named.test(error.message) && !`${error.message} ${error.hint}`.includes('secretsecret'),
    )
  }
  assert.equal(hubOptions({ HF_TOKEN: ' hf_word\n', HF_ENDPOINT: 'http://127.0.0.1:1' }), {
    ...{ token: 'hf_word', endpoint: 'http://127.0.0.1:1' },
  })
})

test('what fetch says of a token or an address shows neither', async () => {
  for (const wrong of [
    { ...options, token: 'secretsecret\nsecond' },
    { ...options, endpoint: 'http://me:secretsecret@127.0.0.1:9' },
  ]) {
    const message = await messageOf(describeHubModel('own/small', wrong))
    assert.match(message, /cannot be reached/)
    assert.not.match(message, /secretsecret/)
  }
})

test('a copy has the files of its revision alone, and half a copy is no model', async () => {
  const model = await describeHubModel('own/small', options)
  const folder = hubFolder('rl-test-owner/half')
  rmSync(folder, { recursive: true, force: true })
  try {
    await fetchCopy(model, folder, options, () => {})
    writeFileSync(join(folder, 'chat_template.jinja'), 'of another revision')
    writeFileSync(join(folder, 'notes.txt'), 'mine')
    await fetchCopy(model, folder, options, () => {})
    assert.equal(readdirSync(folder).includes('chat_template.jinja'), false)
    assert.ok(readdirSync(folder).includes('notes.txt'))
    assert.is(modelPlace('rl-test-owner/half'), folder)
    assert.is((await describeCopy('rl-test-owner/half', options)).told?.licence, 'apache-2.0')
    const files = model.files.filter(({ path }) => path !== TOOL_TEMPLATE)
    await fetchCopy({ ...model, files }, folder, options, () => {})
    assert.not.ok(existsSync(join(folder, TOOL_TEMPLATE)))
    spoil = (response) => {
      response.writeHead(404).end()
      return true
    }
    rmSync(join(folder, 'config.json'))
    await fetchCopy(model, folder, options, () => {}).catch(() => {})
    assert.throws(() => modelPlace('rl-test-owner/half'), /is incomplete/)
    const adapter = join(root, 'adapter-on-half')
    mkdirSync(adapter)
    writeFileSync(join(adapter, 'adapter_model.safetensors'), '')
    writeFileSync(
      join(adapter, 'adapter_config.json'),
      JSON.stringify({
        peft_type: 'LORA',
        r: 1,
        lora_alpha: 1,
        target_modules: ['q_proj'],
        base_model_name_or_path: 'rl-test-owner/half',
      }),
    )
    assert.match((await errorOf(readModelFolder(adapter))).message, /is incomplete/)
  } finally {
    rmSync(dirname(folder), { recursive: true, force: true })
  }
})

test('a copy that broke off goes on with its own revision, and without a hub its record is named', async () => {
  const name = 'rl-test-owner/broken'
  const named = hubFolder(name)
  const folder = join(root, 'named')
  const model = await describeHubModel(name, { ...options, revision: 'v1' })
  const fail = (response: ServerResponse) => {
    response.writeHead(404).end()
    return true
  }
  rmSync(named, { recursive: true, force: true })
  try {
    for (const place of [folder, named]) {
      spoil = fail
      await fetchCopy(model, place, options, () => {}).catch(() => {})
    }
    assert.throws(
      () => modelPlace(folder),
      (error: RlError) =>
        error.hint?.includes(`model get ${name} --revision v1 --to ${folder} continues the fetch`),
    )
    asked = []
    assert.is((await describeCopy(name, options)).missing?.revision, 'v1')
    assert.match(asked[0].url ?? '', /revision\/v1/)
    const offline = await describeCopy(name, { ...options, endpoint: 'http://127.0.0.1:9' }).catch((e) => e)
    assert.match((offline as RlError).hint ?? '', /was interrupted: .* remove \.fetched\.json there/)
  } finally {
    rmSync(dirname(named), { recursive: true, force: true })
  }
})

test('an adapter on another revision of its base than the one that was fetched is refused by name', async () => {
  const base = 'rl-test-owner/revised'
  const place = hubFolder(base)
  const adapter = join(root, 'adapter-of-revision')
  mkdirSync(adapter)
  const said = async (revision: unknown, name = base) => {
    const told = { peft_type: 'LORA', r: 1, lora_alpha: 1, base_model_name_or_path: name, revision }
    writeFileSync(join(adapter, 'adapter_config.json'), JSON.stringify(told))
    return (await errorOf(readModelFolder(adapter))).message
  }
  rmSync(place, { recursive: true, force: true })
  try {
    const model = await describeHubModel('own/small', { ...options, revision: 'v1' })
    await fetchCopy(model, place, options, () => {})
    assert.match(await said('v2'), `revision: it needs v2 of ${base}, but v1 (abcdef1234) is here`)
    for (const revision of [undefined, null, '', 'main', 'v1', 'abcdef1234'])
      assert.match(await said(revision), /revised\/config\.json: vocab_size/, String(revision))
    assert.match(await said(1), /adapter_config\.json: revision: /)
    assert.match(await said('v2', place), /revised\/config\.json: vocab_size/)
    rmSync(join(place, '.fetched.json'))
    assert.match(await said('v2'), /revised\/config\.json: vocab_size/)
  } finally {
    rmSync(dirname(place), { recursive: true, force: true })
  }
})

test('what was fetched goes with its revision, other files stay', async () => {
  const folder = join(root, 'was-gguf')
  const model = await describeHubModel('own/small', options)
  mkdirSync(folder)
  writeFileSync(
    join(folder, '.fetched.json'),
    JSON.stringify({ commit: 'a', bytes: 1, licence: null, isWhole: true, files: ['old.gguf'] }),
  )
  for (const file of ['old.gguf', 'mine.gguf']) writeFileSync(join(folder, file), '')
  spoil = (response) => {
    response.writeHead(404).end()
    return true
  }
  await fetchCopy(model, folder, options, () => {}).catch(() => {})
  assert.ok(existsSync(join(folder, 'old.gguf')))
  spoil = null
  await fetchCopy(model, folder, options, () => {})
  assert.not.ok(existsSync(join(folder, 'old.gguf')))
  assert.ok(existsSync(join(folder, 'mine.gguf')))
})

test('an unknown name, no network and a strange name say what to do', async () => {
  assert.match(
    await messageOf(describeHubModel('own/other', options)),
    /model\.hub: own\/other: .* answers 404/,
  )
  const nowhere = { endpoint: 'http://127.0.0.1:9', token: null }
  assert.match(await messageOf(describeHubModel('own/small', nowhere)), /cannot be reached/)
  assert.match(await messageOf(describeHubModel('../x', options)), /no name on a hub/)
  const gated = await describeHubModel('own/gated', options).catch((error: RlError) => error)
  assert.match((gated as RlError).hint ?? '', /gated or does not exist: .* HF_TOKEN/)
  assert.ok(isHubName('Qwen/Qwen2.5-0.5B-Instruct'))
  for (const path of ['nano', './models/x', '/a/b', 'test/models', 'a/b/c'])
    assert.not.ok(isHubName(path), path)
})

test.run()
