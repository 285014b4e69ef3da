/** What a page can know of the world is the same each time: time, chance, the machine, what is stored, what is on its way. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { hasBrowser } from './browser.ts'
import { after, linesOf, openPages } from './pages.ts'

const WORKER = `addEventListener('message', async ({ data }) => {
  if (data === 'late') setTimeout(() => postMessage('late ' + Date.now()), 1500)
  else postMessage('heard ' + data + ' ' + (await (await fetch('/told.txt')).text()))
})
postMessage(['begun', Math.random(), performance.now(), new Date().getFullYear(), crypto.getRandomValues(new Uint8Array(2)), navigator.hardwareConcurrency].join(' '))`

const blob = (text: string, type = 'text/javascript') =>
  `URL.createObjectURL(new Blob([${JSON.stringify(text)}], { type: '${type}' }))`

/** Each shows lines from what takes its time in a browser. */
const PAGES: Readonly<Record<string, { readonly body: string; readonly script: string }>> = {
  worker: {
    body: '<button onclick="w.postMessage(1)">ask</button><button onclick="w.postMessage(\'late\')">later</button>',
    script: `var w = new Worker('/worker.js'); w.onmessage = (e) => say(e.data)`,
  },
  'blob worker': {
    body: '<button onclick="w.postMessage(0)">ask</button>',
    script: `var w = new Worker(${blob('let n = 0; const inner = new Worker(URL.createObjectURL(new Blob(["onmessage = (e) => postMessage(e.data + Math.random())"]))); inner.onmessage = (e) => postMessage(e.data); onmessage = () => inner.postMessage("inner " + n++); postMessage(eval("1 + 1"))')}); w.onmessage = (e) => say(e.data)`,
  },
  frames: {
    body: '',
    script: `var add = (more) => document.body.append(Object.assign(document.createElement('iframe'), { height: 40 }, more))
      window.begin = () => { add({ srcdoc: '<button>from srcdoc</button><iframe height=30 srcdoc="<button>nested</button>"></iframe>' })
        add({ src: '/framed.htm' }); add({ src: ${blob('<button>from a blob</button>', 'text/html')} }) }`,
  },
  stored: {
    body: '<button onclick="go()">go</button>',
    script: `var go = () => { const r = indexedDB.open('v', 1); r.onupgradeneeded = () => r.result.createObjectStore('s', { autoIncrement: true })
        r.onsuccess = () => { const t = r.result.transaction('s', 'readwrite'); t.objectStore('s').add(1); t.oncomplete = () => {
          const c = r.result.transaction('s').objectStore('s').openCursor(); c.onsuccess = () => c.result ? (say('row ' + c.result.key), c.result.continue()) : say('rows end') } } }
      document.cookie = 'a=b; expires=' + new Date(Date.now() + 9e4).toUTCString(); document.cookie = 'c=d; max-age=0'
      say('cookies ' + document.cookie); say('stored ' + localStorage.length); localStorage.x = 1`,
  },
  loaded: {
    body: '<button onclick="go()">go</button>',
    script: `var go = () => {
      import('/made.mjs').then((m) => say('module ' + m.made))
      const s = document.createElement('script'); s.src = '/said.js'; document.head.append(s)
      for (const n of [1, 2, 3]) fetch('/told.txt?' + n).then((r) => r.text()).then((t) => say('fetched ' + n + t))
      const x = new XMLHttpRequest(); x.open('GET', '/told.txt'); x.onload = () => say('asked ' + x.responseText); x.send()
      const e = new EventSource('/told.txt'); e.onerror = () => say('stream ' + e.readyState) }`,
  },
  local: {
    body: '<button onclick="read()">go</button><button onclick="send()">ask</button><button onclick="draw()">later</button>',
    script: `var read = () => { const f = new FileReader(); f.onload = () => say('file ' + f.result); f.readAsText(new Blob(['text'])) }
      var send = () => { const c = new BroadcastChannel('c'), d = new BroadcastChannel('c'); d.onmessage = (e) => say('channel ' + e.data); c.postMessage(1) }
      var draw = () => { document.createElement('canvas').toBlob(() => { say('picture'); new WebSocket('ws://page.test/').onclose = () => say('socket closed') }) }`,
  },
  machine: {
    body: '',
    script: `const t = performance.timing, n = navigator; performance.mark('m'); performance.measure('z')
      say([t.navigationStart, t.domComplete, t.loadEventEnd, performance.timeOrigin, document.timeline.currentTime].join(' '))
      say([performance.memory.usedJSHeapSize, performance.getEntries().map((e) => e.name + e.startTime + '+' + e.duration), document.lastModified].join(' '))
      say([n.onLine, n.hardwareConcurrency, n.connection.rtt, n.userAgent.includes('Headless'), history.length, navigation.canGoBack].join(' '))
      say([new PerformanceObserver(() => {}).observe({ type: 'resource', buffered: true }), PerformanceObserver.supportedEntryTypes].join(' '))
      say([prompt('name?', 'anna'), prompt('name?'), confirm('?')].join('/'))
      try { new SharedWorker('/worker.js') } catch (e) { say(e.name) }
      AbortSignal.timeout(500).onabort = () => say('aborted ' + performance.now())`,
  },
}
const FILES = {
  '/worker.js': WORKER,
  '/told.txt': 'an answer',
  '/made.mjs': 'export const made = 1',
  '/said.js': "say('script')",
  '/framed.htm': '<!doctype html><button>from a file</button>',
}

if (hasBrowser()) {
  test('what pages show of time, chance, machine and storage is the same in two browsers, and all of it has come', async () => {
    const seen: (readonly string[])[][] = []
    for (let browser = 0; browser < 2; browser++) {
      const environment = openPages(PAGES, { files: FILES })
      try {
        const all: (readonly string[])[] = []
        // The second time each page comes behind others that were shown on the same one.
        for (let round = 0; round < 2; round++)
          for (const page of Object.keys(PAGES)) {
            const start = await after(environment, page, [])
            const refs = [...start.turn.observation.matchAll(/\[(\d+)\] button "(?:ask|later|go)"/g)]
            let episode = start
            for (const [, ref] of refs) episode = await episode.step(`click ${ref}`)
            all.push([
              page,
              ...linesOf(start),
              '-',
              ...linesOf(episode),
              '-',
              ...linesOf(await episode.step('wait')),
            ])
          }
        const half = all.length / 2
        assert.equal(all.slice(half), all.slice(0, half))
        seen.push(all)
      } finally {
        await environment.close()
      }
    }
    assert.equal(seen[1], seen[0])
    const told = Object.fromEntries(seen[0].map(([page, ...lines]) => [page, lines.join('\n')]))
    const holds = (page: string, ...parts: readonly string[]) => {
      for (const part of parts) assert.ok(told[page].includes(part), `${part} is not among\n${told[page]}`)
    }
    const [before, between] = told.worker.split('\n-\n')
    assert.match(before, /begun 0\.\d+ 0 2024 \d+,\d+ 2/)
    assert.match(between, 'heard 1 an answer')
    assert.not.match(between, 'late 17')
    holds('worker', 'late 170470440')
    holds('blob worker', '2', 'inner 00.')
    assert.equal(
      ['from srcdoc', 'nested', 'from a file', 'from a blob'].filter(
        (name) => !told.frames.split('\n-\n')[0].includes(name),
      ),
      [],
    )
    holds('stored', 'cookies a=b', 'stored 0', 'row 1', 'rows end')
    holds('loaded', 'module 1', 'script', 'fetched 3an answer', 'asked an answer', 'stream ')
    holds('local', 'channel 1', 'file text', 'socket closed', 'picture')
    holds(
      'machine',
      'true 2 50 false 1 false',
      'anna//true',
      'NotSupportedError',
      'aborted 400',
      '01/08/2024 09:00:00',
    )
  })
}

test.run()
