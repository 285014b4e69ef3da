/** Models that see act on pages by places: a browser's own mouse and keyboard, told apart from no person's, and the same each time. */

import fc from 'fast-check'
import type { Task } from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { decodePng } from '../../../test/support/png.ts'
import { parseAnswer, seeingBy } from '../../environment-desktop/src/screen/answer.ts'
import { SCREEN_GRAMMARS, type ScreenGrammar } from '../../environment-desktop/src/screen/grammars/names.ts'
import { type WebEpisode, webEnvironment } from '../src/environment.ts'
import { ownSite } from '../src/own/site.ts'
import type { Site } from '../src/site.ts'
import { hasBrowser } from './browser.ts'

/** Each thing is 100 x 40 at a place of its own; what happens is written down on the right, trusted events alone. */
const BODY = `<!doctype html><style>body{margin:0}body>*{position:absolute;width:100px;height:40px;box-sizing:border-box;margin:0}</style>
<button id=b style="left:0;top:0">go</button>
<input id=i style="left:0;top:50px">
<div id=d style="left:0;top:100px;background:#888">drag</div>
<div id=s style="left:0;top:150px;overflow:auto"><div style="height:1000px">long</div></div>
<select id=e style="left:0;top:200px"><option>one<option>two</select>
<a id=h draggable=true style="left:0;top:250px">card</a><div id=t style="left:200px;top:250px;background:#eee">tray</div>
<button id=w style="left:0;top:300px">win</button>
<pre id=l style="left:250px;top:0;width:200px;height:auto"></pre>
<script>
  var won = false
  const by = (id) => document.getElementById(id)
  const say = (event, text) => { if (event.isTrusted) { by('l').append(Object.assign(document.createElement('div'), { textContent: text })) } }
  for (const type of ['click', 'dblclick', 'contextmenu', 'auxclick'])
    by('b').addEventListener(type, (event) => { event.preventDefault(); say(event, type) })
  by('i').addEventListener('change', (event) => say(event, 'change ' + event.target.value))
  by('i').addEventListener('keydown', (event) => { if (/^(Enter|\\.|A)$/.test(event.key)) say(event, event.key + ' ' + event.keyCode) })
  let from = null
  by('d').addEventListener('mousedown', (event) => { from = event.clientX })
  addEventListener('mouseup', (event) => { if (from !== null) say(event, 'moved ' + (event.clientX - from)); from = null })
  by('s').addEventListener('scroll', (event) => say(event, 'scrolled ' + Math.sign(event.target.scrollTop)), { once: true })
  by('e').addEventListener('change', (event) => say(event, 'chose ' + event.target.value))
  by('t').addEventListener('dragover', (event) => event.preventDefault())
  by('t').addEventListener('drop', (event) => say(event, 'dropped'))
  by('w').addEventListener('click', (event) => { won = event.isTrusted })
  setInterval(() => document.title = String(Date.now()), 100)
</script>`

const SCRIPT = `__rl.page = { start() { return 'win' }, state: () => ({ done: window.won === true, reward: window.won === true ? 1 : 0 }), oracle: () => null }`

const site: Site = {
  screen: { width: 460, height: 400 },
  scripts: [SCRIPT],
  serve: async () => ({ body: BODY, mediaType: 'text/html' }),
  start: () => ({ path: '/page', fresh: true, request: { seed: 1 } }),
  tasks: async () => [],
  samples: async () => [],
  variants: async () => [],
}
const TASK: Task = { id: 'page', environment: 'web', kind: 'page', goal: 'win', recipe: {} }
const OPTIONS = { seed: [1, 1], maxSteps: 40 } as const

const open = (grammar: ScreenGrammar, scale = 1) =>
  webEnvironment({ site, browser: null, pages: 1, grammar, scale })

/** What the page has written down. */
const logOf = ({ turn }: WebEpisode) =>
  turn.observation
    .split('\n')
    .map((line) => line.replace(/^\* /, ''))
    .filter((line) =>
      /^(click|dblclick|contextmenu|auxclick|change|Enter|\.|A|moved|scrolled|chose|dropped)(?= |$)/.test(
        line,
      ),
    )

const computerUse = (fields: object) =>
  `<tool_call>${JSON.stringify({ name: 'computer_use', arguments: fields })}</tool_call>`

/** The same click of each grammar, on a picture of 920 x 800 pixels: the button `win` at 50, 320 of the page. */
const WINNING: Readonly<Record<ScreenGrammar, string>> = {
  computer_use: computerUse({ action: 'left_click', coordinate: [109, 799] }),
  'ui-tars': "Thought: win\nAction: click(point='<point>109 800</point>')",
  pyautogui: 'Action: Win.\n```python\npyautogui.click(100, 640)\n```',
  computer_13: '```json\n{"action_type": "CLICK", "parameters": {"x": 100, "y": 640}}\n```',
}

if (hasBrowser()) {
  test('the same click wins in every grammar, and a picture has the size that its pixels are counted in', async () => {
    for (const grammar of SCREEN_GRAMMARS) {
      const environment = open(grammar, 2)
      try {
        const start = await environment.reset(TASK, OPTIONS)
        assert.equal(start.turn.admissible, [])
        const { bytes, ...size } = await environment.picture(start)
        const { width, height } = decodePng(Buffer.from(bytes))
        assert.equal([size, width, height], [{ width: 920, height: 800 }, 920, 800])
        const ended = await start.step(WINNING[grammar])
        assert.is(ended.turn.ended, 'goal', grammar)
        assert.is(ended.outcome(), 1)
        decodePng(Buffer.from((await environment.picture(ended)).bytes))
      } finally {
        await environment.close()
      }
    }
  })

  test('mouse and keyboard do what a person’s do, and pages take it for a person’s', async () => {
    const environment = open('pyautogui')
    try {
      let episode = await environment.reset(TASK, OPTIONS)
      for (const code of [
        'pyautogui.click(50, 20)',
        'pyautogui.rightClick(50, 20)',
        'pyautogui.click(50, 70); pyautogui.write("aA. "); pyautogui.press("enter")',
        'pyautogui.hotkey("ctrl", "a"); pyautogui.write("b"); pyautogui.press("tab")',
        'pyautogui.moveTo(20, 120); pyautogui.dragTo(80, 120, button="left")',
        'pyautogui.moveTo(50, 170); pyautogui.scroll(-3)',
        'pyautogui.click(50, 220); pyautogui.press("down"); pyautogui.press("enter")',
        'pyautogui.moveTo(20, 260); pyautogui.dragTo(250, 270)',
        'WAIT',
      ])
        episode = await episode.step(code)
      assert.equal(logOf(episode), [
        ...['click', 'contextmenu', 'auxclick', 'A 65', '. 190', 'Enter 13', 'change aA.', 'change b'],
        ...['moved 60', 'scrolled 1', 'chose two', 'dropped'],
      ])
    } finally {
      await environment.close()
    }
  })

  test('however long what an agent writes into a field is, the page can be read, and no step keeps it for hours', async () => {
    const environment = open('pyautogui')
    try {
      let episode = await environment.reset(TASK, OPTIONS)
      const write = (letters: number) =>
        episode.step(`pyautogui.click(50, 70); pyautogui.write("${'x'.repeat(letters)}")`)
      assert.match((await write(2000)).turn.observation, /^! 2001 letters, keys and clicks, more than 2000\n/)
      for (let k = 0; k < 3; k++) episode = await write(1990)
      assert.match(episode.turn.observation, /textbox .* = x{4000}( |$)/m)
      assert.is(episode.turn.done, false)
    } finally {
      await environment.close()
    }
  })

  test('an episode is the same on a fresh page, whatever pointer and keys were left as', async () => {
    const environment = open('pyautogui')
    const steps = ['pyautogui.click(50, 20)', 'pyautogui.click(50, 70); pyautogui.write("x")']
    const seen: string[][] = []
    try {
      for (const before of [
        '',
        'pyautogui.moveTo(50, 20); pyautogui.mouseDown(); pyautogui.keyDown("shift")',
      ]) {
        if (before !== '') await (await environment.reset(TASK, OPTIONS)).step(before)
        let episode = await environment.reset(TASK, OPTIONS)
        const states = [episode.turn.observation]
        for (const step of steps) {
          episode = await episode.step(step)
          states.push(episode.turn.observation)
        }
        // From the middle: all is done again on the page.
        const middle = await (await environment.reset(TASK, OPTIONS)).step(steps[0])
        await middle.step('pyautogui.press("esc")')
        states.push((await middle.step(steps[1])).turn.observation)
        seen.push(states)
        assert.is(states[2], states[3])
      }
      assert.equal(seen[0], seen[1])
    } finally {
      await environment.close()
    }
  })

  test('what holds no action is told and counted, an end ends without success, and a place can be clicked by a command', async () => {
    const environment = open('computer_use')
    try {
      const start = await environment.reset(TASK, OPTIONS)
      const told = await start.step('I do not know.')
      assert.match(told.turn.observation, /^! the answer has no <tool_call>\n/)
      const ended = await told.step(computerUse({ action: 'terminate', status: 'success' }))
      assert.equal([ended.turn.ended, ended.outcome()], ['gave-up', 0])
    } finally {
      await environment.close()
    }
    const words = webEnvironment({ site, browser: null, pages: 1 })
    try {
      const start = await words.reset(TASK, OPTIONS)
      assert.is((await start.step('click-at 50 320')).outcome(), 1)
      assert.equal(logOf(await start.step('click-at 50 20')), ['click'])
    } finally {
      await words.close()
    }
  })

  test('a page stands through two hundred random answers of every grammar', async () => {
    for (const grammar of SCREEN_GRAMMARS) {
      const environment = webEnvironment({
        site: ownSite({ seed: 1, counts: { train: 4, 'in-domain': 1, ood: 1 }, difficulty: 'easy' }),
        ...{ browser: null, pages: 1, grammar },
      })
      try {
        const [task] = await environment.tasks('train')
        let episode = await environment.reset(task, { seed: [1, 1], maxSteps: 1_000 })
        for (const text of fc.sample(answer, { numRuns: 200, seed: 3 })) episode = await episode.step(text)
        assert.ok(episode.turn.done || episode.turn.observation.length > 0)
      } finally {
        await environment.close()
      }
    }
  })
}

const words = fc.oneof(
  fc.constantFrom(
    ...[
      '<tool_call>',
      '</tool_call>',
      '{"name": "computer_use", "arguments": {"action": "',
      '"coordinate": [5, 5]',
    ],
    ...[
      '"}}',
      'Action:',
      'click(',
      "point='<point>1 2</point>'",
      ')',
      '```',
      '```python\n',
      'pyautogui.',
      'scroll(3)',
    ],
    ...[
      '{"action_type": "CLICK"',
      '"parameters": {"x": 1e9}',
      '}',
      'DONE',
      '__import__("os").system("true")',
      '\n',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
)
const answer = fc.array(words, { maxLength: 8 }).map((pieces) => pieces.join(''))

test('ten thousand answers are actions or are refused with a reason, in every grammar', () => {
  for (const grammar of SCREEN_GRAMMARS) {
    const { invalid, brief } = seeingBy(grammar)!
    fc.assert(
      fc.property(answer, (text) => {
        assert.ok(brief(text).length <= 200)
        try {
          assert.ok(parseAnswer(grammar, text, { width: 10, height: 10 }).length > 0)
          assert.is(invalid(text), null)
        } catch (error) {
          assert.ok(error instanceof RlError && error.code === 'screen.action', String(error))
          assert.is(invalid(text), 'it holds no action')
        }
      }),
      { numRuns: 2_500 },
    )
  }
})

test('code stands in the last fence, and a sentence behind Action: is what later prompts tell', () => {
  const two = 'a\n```\npyautogui.click(1, 2)\n```\nb\n```python\npyautogui.click(3, 4)\n```\n'
  const [action] = parseAnswer('pyautogui', two, { width: 10, height: 10 })
  assert.equal(action, { type: 'click', at: { x: 3, y: 4 }, button: 'left', count: 1 })
  assert.is(parseAnswer('pyautogui', '```\nDONE', { width: 1, height: 1 })[0].type, 'end')
  assert.is(seeingBy('computer_use')!.brief('x\nAction: Click  OK.\n<tool_call>'), 'Click OK.')
  assert.is(seeingBy('commands'), null)
})

test.run()
