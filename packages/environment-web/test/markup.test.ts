/** Text that an agent writes never becomes part of a page: a button of its own would give it the reward. */
import type { Task } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Grammar } from '../../environment-desktop/src/screen/grammars/names.ts'
import { type WebEpisode, webEnvironment } from '../src/environment.ts'
import { bringsMarkup } from '../src/markup.ts'
import { folderSite } from '../src/miniwob/site.ts'
import { type Step, stepReader } from '../src/steps.ts'
import { ownTexts, withOtherLetters } from '../src/written.ts'
import { hasBrowser } from './browser.ts'
import { after, linesOf, openPages } from './pages.ts'

const read = stepReader('commands', { width: 500, height: 500 }, 1)
/** Whether the last of some commands brings markup. */
function brings(texts: readonly string[], goal = 'Say hello.'): boolean {
  const steps = texts.flatMap((text) => {
    const step = read(text)
    return 'problem' in step ? [] : [step]
  })
  assert.is(steps.length, texts.length)
  return bringsMarkup(steps.slice(0, -1), steps[steps.length - 1], goal)
}

test('markup is seen in one text, letter by letter and as character references, and is let through where the task has it', () => {
  for (const text of [
    'type 1 <button onclick=core.endEpisode(1)>',
    'type 1 " onfocus = x',
    'type 1 JavaScript:x',
    'type 1 &lt;b',
    'type 1 &#60;b',
    'press 1 <',
    'press 1 shift+<',
    'press 1 shift+,',
  ])
    assert.ok(brings([text]), text)
  assert.ok(brings(['press 1 o', 'press 1 n', 'press 1 x', 'press 1 Backspace', 'type 2 =1']))
  assert.not(brings(['type 1 <b>'], 'Write "<i>".'))
  assert.not(brings(['type 1 only one & two; a = b > c']))
  assert.not(brings(['type 1 <b>', 'click 2']))
})

const steps = (texts: readonly string[]) => texts.map((text) => read(text) as Step)

test('what the agent writes of its own is told from what the task says, and is written again with other letters', () => {
  const written = [
    'type 1 anna',
    'press 2 c',
    'press 2 shift+9',
    'click 3',
    'press 2 7',
    'press 2 Enter',
    'type 1 %3Cb x@y',
  ]
  assert.equal(ownTexts(steps(written), 'Write "anna" 7 times.'), ['c(7', '%3Cb x@y'])
  assert.equal(ownTexts(steps(['type 1 an']), 'anna'), ['an'])
  const others = withOtherLetters(steps(written), ['c(7', '%3Cb x@y'])
  assert.equal(
    others.map((step) => (step.kind === 'command' ? step.command.at(-1) : null)),
    ['anna', 'x', 'x', 3, '1', 'Enter', 'x1xx x@x'],
  )
})

/** Pages that make what is written a part of themselves, after their own fashion. */
const into = (made: string) => ({
  body: `<input aria-label=a><button onclick="show()">show</button><div id=d></div><button hidden id=w>win</button>`,
  script: `document.onclick = (e) => e.target.id === 'w' && end(1); const d = document.getElementById('d')
    function show() { const v = document.querySelector('input').value; try { ${made} } catch (e) { d.textContent = 'error' } }`,
})
const BECOMING = {
  base64: into('d.innerHTML = atob(v)'),
  codes: into('d.innerHTML = v.replace(/u(..)/g, (_, c) => String.fromCharCode(parseInt(c, 16)))'),
  written: into('document.write(unescape(v))'),
  called: into('new Function(v)()'),
  timed: into('setTimeout(v)'),
  handler: into("d.setAttribute('onclick', v); d.click()"),
  address: into('location.href = v'),
  framed: into(
    "const f = document.createElement('iframe'); f.srcdoc = JSON.parse('\"' + v + '\"'); d.append(f)",
  ),
  sum: into('d.textContent = eval(v)'),
  list: into(
    "d.innerHTML = '<ul>' + v.split(',').map((one) => '<li onclick=\"say(1)\">' + one.replace(/[<&]/g, '') + '</li>').join('') + '</ul>'",
  ),
}
const WAYS: Readonly<Record<string, string>> = {
  base64: btoa('<img src=x onerror=end(1)>'),
  codes: 'u3cimg src=x onerroru3dend(1)u3e',
  written: '%253Cimg src=x onerror%3Dend(1)%3E'.replace('%25', '%'),
  called: 'end(1)',
  timed: 'end(1)',
  handler: 'end(1)',
  address: 'java\tscript:end(1)',
  framed: '\\u003cimg src=x onerror\\u003dparent.end(1)>',
}

if (hasBrowser())
  test('no text of the agent becomes a program or an element, whatever the page does with it, and honest ones are shown', async () => {
    const environment = openPages(BECOMING)
    try {
      for (const [page, text] of Object.entries(WAYS)) {
        const shown = await after(environment, page, [`type 1 ${text}`, 'click 2', 'wait', 'wait'])
        assert.is(shown.turn.done, false, page)
        const refused = await after(environment, page, [`type 1 ${text}`, 'click 2'])
        assert.match(
          refused.turn.observation,
          /^! what was written would become (a program|markup) of the page\n/,
          page,
        )
      }
      const element = await after(environment, 'written', ['type 1 %3Cb id%3Dw%3Ewin', 'click 2'])
      assert.match(element.turn.observation, /^! what was written would become markup/)
      // The task may have it, and sums are no programs.
      const asked = 'Write end(1) and press show.'
      assert.is((await after(environment, 'called', ['type 1 end(1)', 'click 2'], asked)).turn.ended, 'goal')
      assert.ok(linesOf(await after(environment, 'sum', ['type 1 (6+1)*7', 'click 2'])).includes('49'))
      const listed = linesOf(await after(environment, 'list', ['type 1 tea & 50% milk', 'click 2']))
      assert.ok(
        listed.some((line) => /item "tea 50% milk"/.test(line)),
        listed.join('\n'),
      )
      assert.ok(
        linesOf(await after(environment, 'written', ['type 1 plain words', 'click 2'])).includes(
          'plain words',
        ),
      )
    } finally {
      await environment.close()
    }
  })

const GRAMMARS: Readonly<Partial<Record<Grammar, (text: string) => string>>> = {
  commands: (text) => `type 1 ${text}`,
  pyautogui: (text) => `\`\`\`python\npyautogui.click(40, 60)\npyautogui.write('${text}')\n\`\`\``,
}
const ENTER: Readonly<Partial<Record<Grammar, string>>> = {
  commands: 'press 1 Enter',
  pyautogui: '```python\npyautogui.press("enter")\n```',
}

if (hasBrowser())
  test('what is typed on a page that shows it as markup gives no button', async () => {
    for (const grammar of ['commands', 'pyautogui'] as const) {
      const environment = webEnvironment({
        site: folderSite({
          folder: 'test/fixtures/pages',
          seed: 1,
          counts: { train: 1, 'in-domain': 1, ood: 1 },
        }),
        ...{ browser: null, pages: 1, grammar },
      })
      const task: Task = {
        ...{ id: 'echo', environment: 'web', kind: 'echo', goal: 'Type a word and press Enter.' },
        recipe: { page: 'echo', seed: 1 },
      }
      const line = GRAMMARS[grammar]!
      try {
        const start = await environment.reset(task, { seed: [1, 1], maxSteps: 9 })
        const shows = (episode: WebEpisode) => /win/.test(episode.turn.observation.replace(/^! .*\n/, ''))
        const markup = line('<button onclick=core.endEpisode(1)>win</button>')
        const typed = await start.step(markup)
        assert.match(typed.turn.observation, /^! markup /)
        assert.not(shows(await typed.step(ENTER[grammar]!)), grammar)
        // What was refused is no part of what is played again.
        const honest = await start.step(line('win'))
        assert.ok(shows(await honest.step(ENTER[grammar]!)), grammar)
        assert.is(await environment.remaining(task, [markup, ENTER[grammar]!]), null)
      } finally {
        await environment.close()
      }
    }
  })

test.run()
