/** Text that an agent writes never becomes part of a page: a button of its own would give it the reward. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Task } from '../../../src/environments/port.ts'
import type { Grammar } from '../../../src/environments/screen/grammars/names.ts'
import { type WebEpisode, webEnvironment } from '../../../src/environments/web/environment.ts'
import { bringsMarkup } from '../../../src/environments/web/markup.ts'
import { folderSite } from '../../../src/environments/web/miniwob/site.ts'
import { stepReader } from '../../../src/environments/web/steps.ts'
import { hasBrowser } from './browser.ts'

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
