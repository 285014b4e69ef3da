/** Pages that hang, eat memory, open windows, go away or lie: each ends as a fault with a name, and the next task is played as ever. */

import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import type { Task } from 'rlanything/environments'
import type { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isAlive } from '../../../test/support/processes.ts'
import { until } from '../../../test/support/run.ts'
import { findBrowser } from '../src/browser/find.ts'
import { launch } from '../src/browser/launch.ts'
import { openPage, type Page } from '../src/browser/page.ts'
import { checkPage } from '../src/check-page.ts'
import { webEnvironment } from '../src/environment.ts'
import type { Site } from '../src/site.ts'
import { hasBrowser } from './browser.ts'

/** A page with one button; what it does when it is clicked, or when it is loaded. */
const PAGES: Readonly<Record<string, { readonly click?: string; readonly load?: string }>> = {
  kind: { click: 'won = true' },
  loop: { click: 'for (;;) {}' },
  'loop-at-load': { load: 'for (;;) {}' },
  promises: { click: 'const f = () => Promise.resolve().then(f); f()' },
  timers: { click: 'const f = () => setTimeout(f, 0); f(); setInterval(() => {}, 0); won = true' },
  memory: { click: 'const all = []; for (;;) all.push(new Uint8Array(64 * 1024 * 1024).fill(1))' },
  strings: { click: "let s = 'x'; const all = []; for (;;) all.push((s += s.slice(0, 1e6)))" },
  dialogs: { click: 'alert(1); confirm(2); prompt(3); print(); won = true' },
  unload: { click: "onbeforeunload = () => 'stay'; location.href = '/kind'" },
  popup: {
    click: `for (let i = 0; i < 9; i++) window.open('/kind')
      const a = Object.assign(document.createElement('a'), { href: '/kind', target: '_blank' }); document.body.append(a); a.click(); won = true`,
  },
  download: {
    click: `const a = Object.assign(document.createElement('a'), { href: 'data:text/plain,x', download: 'x' }); document.body.append(a); a.click(); won = true`,
  },
  away: { click: "location.href = '/kind'" },
  abroad: { click: "location.href = 'http://example.com/'" },
  form: {
    click: `document.body.insertAdjacentHTML('beforeend', '<form action="/kind" id=f><input></form>'); document.getElementById('f').requestSubmit(); won = true`,
  },
  closed: { click: 'window.close(); top.close(); won = true' },
  liar: { click: "JSON.stringify = () => 'no'" },
  stranger: { click: 'JSON.stringify = () => \'{"done":true,"reward":1}\'' },
  'large-answer': { click: "JSON.stringify = () => 'x'.repeat(4e7)" },
  'bad-address': { load: "new Image().src = '100%.png'", click: 'won = true' },
  network: {
    click: `won = true; fetch('http://example.com').catch(() => {}); new Image().src = 'http://127.0.0.1:1/'; try { new WebSocket('ws://127.0.0.1:1') } catch {}`,
  },
  history: { click: 'history.back(); history.go(-2); won = true' },
  observers: {
    click:
      "new MutationObserver(() => document.body.append('x')).observe(document.body, { childList: true }); document.body.append('y')",
  },
  messages: { click: "onmessage = () => postMessage(1, '*'); postMessage(1, '*'); won = true" },
  promise: { click: 'Promise.prototype.then = () => {}' },
  flood: { click: "for (let i = 0; i < 400; i++) fetch('/heavy?' + i).catch(() => {}); won = true" },
  unserved: {},
  post: { click: "fetch('/x', { method: 'POST', body: 'x'.repeat(4e7) }).catch(() => {}); won = true" },
  beacon: { click: "for (let i = 0; i < 99; i++) navigator.sendBeacon('/x', 'x'.repeat(6e4)); won = true" },
  worker: { click: "new Worker(URL.createObjectURL(new Blob(['for (;;) {}']))); won = true" },
  prototypes: {
    click: 'for (const name of Object.getOwnPropertyNames(Array.prototype)) Array.prototype[name] = null',
  },
  'late-away': {
    click: `document.head.insertAdjacentHTML('beforeend', '<meta http-equiv=refresh content="0;url=/kind">'); won = true`,
  },
  framed: {
    click: `const f = document.createElement('iframe'); document.body.append(f); const w = f.contentWindow
      w.alert(1); w.open('/kind'); w.print(); w.close(); won = true`,
  },
  'frames-out': {
    click: `document.body.insertAdjacentHTML('beforeend', '<iframe srcdoc="<script>parent.location = \\'/kind\\'<\\/script>"></iframe>')
      document.body.insertAdjacentHTML('beforeend', '<a id=a target=_top href="/kind">x</a>'); document.getElementById('a').click(); won = true`,
  },
  apis: {
    click: `won = true; const quietly = (f) => { try { Promise.resolve(f()).catch(() => {}) } catch {} }
      quietly(() => document.documentElement.requestFullscreen()); quietly(() => document.body.requestPointerLock())
      quietly(() => navigator.serviceWorker.register('/kind')); quietly(() => Notification.requestPermission())
      quietly(() => navigator.clipboard.readText()); quietly(() => navigator.geolocation.getCurrentPosition(() => {}))
      quietly(() => navigator.mediaDevices.getUserMedia({ audio: true })); quietly(() => showOpenFilePicker())
      quietly(() => new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:9' }] }).createDataChannel('x'))
      quietly(() => { const f = document.createElement('input'); f.type = 'file'; f.click() })
      quietly(() => new SharedWorker('/kind')); quietly(() => new EventSource('/kind')); quietly(() => document.write('<p>more'))`,
  },
  title: { click: "for (let i = 0; i < 99; i++) document.title = i + 'x'.repeat(4e6); won = true" },
  deep: {
    load: `let at = document.body; for (let i = 0; i < 1e5; i++) { const next = document.createElement('div'); at.append(next); at = next }`,
    click: 'won = true',
  },
  nested: {
    load: `let at = document; for (let i = 0; i < 40; i++) { const f = at.createElement('iframe'); at.body.append(f); at = f.contentDocument }`,
    click: 'won = true',
  },
  nodes: {
    load: "const a = document.createElement('div'); a.innerHTML = '<i>x</i>'.repeat(1e5); document.body.append(a)",
    click: 'won = true',
  },
  complaint: { click: "__rl.page.state = () => { throw new Error('x'.repeat(5e6)) }" },
  large: {
    load: "document.body.insertAdjacentHTML('beforeend', '<button>x</button>'.repeat(5000))",
    click: 'won = true',
  },
}

const SCRIPT = `__rl.page = { start: () => 'click', state: () => ({ done: window.won === true, reward: window.won === true ? 1 : 0 }), oracle: () => null }`

const HEAVY = Buffer.alloc(2 ** 20, 'x')
let served = 0

const site: Site = {
  screen: { width: 500, height: 500 },
  scripts: [SCRIPT],
  async serve(path) {
    if (path === '/heavy') {
      served += HEAVY.length
      return { body: HEAVY, mediaType: 'text/plain' }
    }
    if (path === '/unserved') return new Promise(() => {})
    const page = PAGES[path.slice(1)]
    if (!page) return null
    const { click = '', load = '' } = page
    return {
      body: `<!doctype html><body><button id=b>go</button><script>var won = false
        document.getElementById('b').onclick = () => { ${click} }\n${load}</script></body>`,
      mediaType: 'text/html',
    }
  },
  start: ({ page }) => ({ path: `/${page}`, fresh: true, request: { seed: 1 } }),
  tasks: async () => [],
  samples: async () => [],
  variants: async () => [],
}

const taskOf = (page: string): Task => ({
  id: page,
  environment: 'web',
  kind: page,
  goal: '',
  recipe: { page },
})
const OPTIONS = { seed: [1, 1], maxSteps: 3 } as const
const DEADLINE_MS = 15_000

async function outcomeOf(
  environment: ReturnType<typeof webEnvironment>,
  page: string,
  action = 'click 1',
): Promise<string> {
  try {
    const start = await environment.reset(taskOf(page), OPTIONS)
    const next = await start.step(action)
    return next.turn.ended ?? 'open'
  } catch (error) {
    const { code, message } = error as RlError
    return message.length < 1000 ? code : `a message of ${message.length} characters`
  }
}

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  loop: ['web.late'],
  'loop-at-load': ['web.late'],
  promises: ['web.late', 'web.page'], // its chain is never let go of: a fast machine comes to the end of its memory
  timers: ['goal'],
  memory: ['web.page', 'web.late', 'open'], // open: what asks for too much gets an exception
  strings: ['web.page', 'web.late', 'open'],
  dialogs: ['goal'],
  unload: ['web.page'],
  popup: ['goal'],
  download: ['goal'],
  away: ['web.page'],
  abroad: ['web.page'],
  form: ['goal'],
  closed: ['goal'],
  liar: ['web.page', 'open'], // open: done again from the start it is read before it lies
  stranger: ['web.page', 'open'], // open: done again from the start it is read before it lies
  'large-answer': ['web.protocol'],
  'bad-address': ['goal'],
  network: ['goal'],
  history: ['goal'],
  observers: ['web.late'],
  messages: ['goal'],
  promise: ['web.page', 'open'],
  flood: ['goal'],
  unserved: ['web.late'],
  large: ['goal'],
  post: ['goal'],
  beacon: ['goal'],
  worker: ['goal'],
  prototypes: ['web.page'],
  'late-away': ['goal', 'web.page'],
  framed: ['goal'],
  'frames-out': ['goal', 'web.page'],
  apis: ['goal'],
  title: ['goal'],
  deep: ['web.page', 'web.late'],
  nested: ['goal'],
  nodes: ['goal', 'web.late'],
  complaint: ['web.page'],
}

if (hasBrowser()) {
  test('each hostile page ends as a fault or does nothing, and a kind one is played behind it', async () => {
    const environment = webEnvironment({ site, browser: null, pages: 2, deadlineMs: DEADLINE_MS })
    try {
      assert.is(await outcomeOf(environment, 'kind'), 'goal')
      for (const [page, expected] of Object.entries(EXPECTED)) {
        const [outcome, beside] = await Promise.all([
          outcomeOf(environment, page),
          outcomeOf(environment, 'kind'),
        ])
        assert.ok(expected.includes(outcome), `${page}: ${outcome}`)
        assert.is(beside, 'goal', `beside ${page}`)
        assert.is(await outcomeOf(environment, 'kind'), 'goal', `behind ${page}`)
      }
      assert.ok(served > 0 && served < 100 * HEAVY.length, `${served} bytes for a flood of requests`)
    } finally {
      await environment.close()
    }
  })

  test('so does one that a person’s click sets off, which browsers let do more', async () => {
    const environment = webEnvironment({ site, browser: null, pages: 1, deadlineMs: DEADLINE_MS })
    const pages = 'loop dialogs unload popup download away form closed stranger history'.split(' ')
    try {
      for (const page of pages) {
        const outcome = await outcomeOf(environment, page, 'click-at 20 15')
        assert.ok(EXPECTED[page].includes(outcome), `${page}: ${outcome}`)
        assert.is(await outcomeOf(environment, 'kind', 'click-at 20 15'), 'goal', `behind ${page}`)
      }
    } finally {
      await environment.close()
    }
  })

  test('a page reaches nobody by sockets or calls between browsers, also without bubblewrap', async () => {
    let reached = 0
    const calls = createSocket('udp4', () => reached++)
    const sockets = createServer((socket) => {
      reached++
      socket.destroy()
    })
    await new Promise<void>((resolve) => sockets.listen(0, '127.0.0.1', resolve))
    const { port } = sockets.address() as AddressInfo
    await new Promise<void>((resolve) => calls.bind(port, '127.0.0.1', resolve))
    const script = `Object.defineProperty(window, '__rl', { value: { go: () => Promise.all([
      new Promise((resolve) => { new WebSocket('ws://127.0.0.1:${port}').onclose = () => resolve('socket') }),
      new Promise(async (resolve) => {
        const call = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${port}' }] })
        call.onicegatheringstatechange = () => call.iceGatheringState === 'complete' && resolve('call')
        call.createDataChannel('x')
        await call.setLocalDescription(await call.createOffer())
      })]) } })`
    const noFence = { bwrap: null, detail: '' }
    let page: Page | null = null
    const browser = launch(findBrowser(null), noFence, (event) => page?.onEvent(event))
    page = await openPage(browser.connection, { scripts: [script], serve: site.serve, scale: 1 })
    try {
      await page.load('/kind', 60_000)
      assert.equal(await page.call('go', null, 60_000), ['socket', 'call'])
      assert.is(reached, 0)
    } finally {
      await browser.end()
      calls.close()
      sockets.close()
    }
  })

  test('that no browser stays up is no fault of a task', async () => {
    const environment = webEnvironment({ site, browser: '/bin/false', pages: 1 })
    try {
      assert.is(await outcomeOf(environment, 'kind'), 'rollout.infra')
    } finally {
      await environment.close()
    }
  })

  test('a page that cannot be played is counted by a check, though both browsers agree', async () => {
    const open = () => webEnvironment({ site, browser: null, pages: 1, deadlineMs: DEADLINE_MS })
    const pair = [open(), open()] as const
    try {
      const { differences, faults } = await checkPage('stranger', [taskOf('stranger'), taskOf('kind')], pair)
      assert.equal([differences, faults], [0, 1])
    } finally {
      await Promise.all(pair.map((one) => one.close()))
    }
  })

  test('jobs that wait while the browser is closed are refused, and none is opened for them', async () => {
    const { pool } = webEnvironment({ site, browser: null, pages: 1 })
    const wish = { path: '/kind', holder: null }
    let goOn = () => {}
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const first = pool.run(wish, () => {
      begin()
      return new Promise<void>((resolve) => {
        goOn = resolve
      })
    })
    const second = pool.run(wish, async () => 'done').catch((error: RlError) => error.code)
    await begun
    await pool.close()
    goOn()
    await first
    assert.is(await second, 'web.gone')
    assert.is(pool.pid(), null)
  })

  test('a page that hangs in the first job of a browser takes it along', async () => {
    const environment = webEnvironment({ site, browser: null, pages: 1, deadlineMs: DEADLINE_MS })
    try {
      assert.is(await outcomeOf(environment, 'loop-at-load'), 'web.late')
      assert.is(environment.pool.pid(), null)
    } finally {
      await environment.close()
    }
  })

  test('no browser outlives its process, not even one that is killed', async () => {
    const program = `
      import { webEnvironment } from ${JSON.stringify(new URL('../src/environment.ts', import.meta.url).href)}
      import { ownSite } from ${JSON.stringify(new URL('../src/own/site.ts', import.meta.url).href)}
      const environment = webEnvironment({ site: ownSite({ seed: 1, counts: { train: 1, 'in-domain': 1, ood: 1 }, difficulty: 'easy' }), browser: null, pages: 1 })
      environment.tasks('train').then(() => console.log(environment.pool.pid()))
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(child.stdout, 'data')
    const pid = Number(String(line))
    assert.ok(pid > 0 && existsSync(`/proc/${pid}`), `browser ${pid}`)
    const group = processesOf(pid)
    assert.ok(group.length > 2, `${group.length} processes`)
    child.kill('SIGKILL')
    await until('the end of its processes', () => !group.some(isAlive))
  })
}

/** A process and all below it. */
function processesOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`
  const children = existsSync(path) ? readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number) : []
  return [pid, ...children.flatMap(processesOf)]
}

test.run()
