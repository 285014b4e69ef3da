/** Parts of the environment over a real browser: the player of actions, what pages show, and their oracle. */
import type { Task } from 'rlanything/environments'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { askPages } from '../src/ask-pages.ts'
import { webEnvironment } from '../src/environment.ts'
import { createOracle } from '../src/oracle.ts'
import { createPlayer } from '../src/player.ts'
import { createShown } from '../src/shown.ts'
import type { Site } from '../src/site.ts'
import { type Step, stepReader } from '../src/steps.ts'
import { hasBrowser } from './browser.ts'

/** Two presses of the first button solve the task. The second button spoils it for the oracle. */
const PAGE = `<!doctype html><body><button onclick="press()">press</button><button onclick="spoil()">spoil</button><div id=said></div></body>`
const SCRIPT = `let presses = 0
  let spoiled = false
  window.spoil = () => { spoiled = true }
  window.press = () => {
    presses++
    document.getElementById('said').append(Object.assign(document.createElement('p'), { textContent: 'press ' + presses }))
  }
  __rl.page = { full: true, start() { return 'press twice' }, state: () => ({ done: presses > 1, reward: presses > 1 ? 1 : 0 }), oracle: () => spoiled ? null : ['click', document.querySelector('button')] }`

const task: Task = { id: 'a', environment: 'web', kind: 'a', goal: 'press twice', recipe: { page: 'a' } }
const DEADLINE_MS = 10_000

function openParts(remembered = 0) {
  let loads = 0
  const site: Site = {
    screen: { width: 500, height: 500 },
    scripts: [SCRIPT],
    async serve() {
      loads++
      return { body: PAGE, mediaType: 'text/html' }
    },
    start: () => ({ path: '/a', fresh: true, request: {} }),
    tasks: async () => [],
    samples: async () => [],
    variants: async () => [],
  }
  const { pool } = webEnvironment({ site, browser: null, pages: 1 })
  const player = createPlayer(pool, site.start, DEADLINE_MS)
  const shown = createShown(player, remembered)
  const read = stepReader('commands', site.screen, 1)
  const oracle = createOracle({
    play: player.play,
    shown,
    stepAfter: (_, __, text) => read(text),
    remembered,
  })
  const asked = askPages(player, site.start, DEADLINE_MS)
  return { pool, player, shown, oracle, asked, press: read('click 1') as Step, loads: () => loads }
}

const playing = suite('playing')
const parts = hasBrowser() ? openParts() : null
playing.after(() => parts?.pool.close())

if (parts) {
  const { player, shown, oracle, asked, press, loads } = parts
  const textsOf = async (actions: readonly Step[], from: Parameters<typeof shown.look>[3], holder: object) =>
    (await shown.look(task, actions, '', from, holder)).lines
      .map(([, , text]) => text)
      .filter((text) => /^press \d/.test(text))

  playing('a page that stands on a state goes on from there; any other plays all actions again', async () => {
    const [first, second] = [{}, {}]
    assert.equal(await textsOf([press], null, first), ['press 1'])
    const before = loads()
    assert.equal(await textsOf([press, press], { holder: first, done: 1 }, second), ['press 1', 'press 2'])
    assert.is(loads(), before)
    // The page has gone on to the second state.
    assert.equal(await textsOf([press], { holder: first, done: 1 }, {}), ['press 1'])
    assert.is(loads(), before + 1)
  })

  playing('after a question nothing stands on the page', async () => {
    const holder = {}
    await textsOf([press], null, holder)
    assert.equal(await asked.goals([task.recipe, task.recipe]), ['press twice', 'press twice'])
    const before = loads()
    assert.equal(await textsOf([press], { holder, done: 1 }, {}), ['press 1'])
    assert.is(loads(), before + 1)
  })

  playing('the oracle counts the steps that are left, and what each action gains', async () => {
    assert.is(await oracle.remaining(task, []), 2)
    assert.is(await oracle.remaining(task, ['click 1']), 1)
    // A text that is no command is not a step.
    assert.is(await oracle.remaining(task, ['nonsense', 'click 1']), 1)
    assert.equal(await oracle.progress(task, ['click 1', 'wait', 'click 1']), Float32Array.of(1, 0, 1))
    assert.equal(await oracle.remainders(task, ['click 1', 'wait', 'click 1']), Float32Array.of(2, 1, 1, 0))
  })

  playing('the step that spoils a task loses one, and no step behind it counts', async () => {
    const spoiled = ['click 1', 'click 2', 'wait', 'wait']
    assert.equal(await oracle.progress(task, spoiled), Float32Array.of(1, -1, 0, 0))
    assert.equal(await oracle.remainders(task, spoiled), Float32Array.of(2, 1, 2, 2, 2))
  })

  playing('an error of the page is its own', async () => {
    const failing = player.onPage('/a', true, (page) => page.call('noSuchFunction', null, DEADLINE_MS))
    assert.is(await failing.then(String, ({ code }) => code), 'web.page')
  })
}

playing.run()
