/** Tasks in Chromium over a page of a file. The page's text at the end is judged. */
import type { SetupStep } from '../osworld/task-file.ts'
import { DESKTOP, file, started, type TaskKind } from './task.ts'
import { words } from './words.ts'

const page = (title: string, body: string): readonly SetupStep[] => [
  file('page.html', `<!doctype html><title>${title}</title><h1>${title}</h1>${body}`),
  ...started(title, `chromium ${DESKTOP}/page.html`, { byTitle: true }),
]

/** Looks for a text of the page. A text that was typed into a field or as an address does not count. */
const says = (text: string) => ({
  metric: 'check_include_exclude',
  result: { type: 'accessibility_tree' },
  rules: { include: [`<static name="${text}"`], exclude: [] },
})

const programs = ['chromium']

export const CHROMIUM: readonly TaskKind[] = [
  {
    kind: 'chromium-form',
    programs,
    make(random) {
      const [name, other] = words(random, 2)
      return {
        goal: `On the page, enter '${name}' as the name and send it.`,
        config: page(
          'Sign up',
          `<form onsubmit="o.textContent='welcome to ' + n.value; return false"><input id=n aria-label=Name><button>Send</button></form><p id=o></p>`,
        ),
        check: says(`welcome to ${name}`),
        texts: [other],
        oracle: ['click "Name"', `type ${name}`, 'click "Send"', 'done'],
        wrong: ['click "Name"', `type ${other}`, 'click "Send"', 'done'],
      }
    },
  },
  {
    kind: 'chromium-link',
    programs,
    make(random) {
      const topics = words(random, 3)
      const links = topics.map(
        (word) => `<p><a href="#" onclick="o.textContent='all about ${word}'">${word}</a></p>`,
      )
      return {
        goal: `On the page, follow the link ${topics[1]}.`,
        config: page('Topics', `${links.join('')}<p id=o></p>`),
        check: says(`all about ${topics[1]}`),
        oracle: [`click "${topics[1]}"`, 'done'],
        wrong: [`click "${topics[0]}"`, 'done'],
      }
    },
  },
  {
    kind: 'chromium-boxes',
    programs,
    make(random) {
      const things = words(random, 3)
      const boxes = things.map((word) => `<p><label><input type=checkbox value=${word}>${word}</label></p>`)
      const order =
        "o.textContent='you take ' + [...document.querySelectorAll(':checked')].map(b => b.value).join(' and ')"
      return {
        goal: `On the page, choose ${things[0]} and ${things[2]} and order them.`,
        config: page('Shop', `${boxes.join('')}<button onclick="${order}">Order</button><p id=o></p>`),
        check: says(`you take ${things[0]} and ${things[2]}`),
        oracle: [`click "${things[0]}"`, `click "${things[2]}"`, 'click "Order"', 'done'],
        wrong: [`click "${things[0]}"`, 'click "Order"', 'done'],
      }
    },
  },
]
