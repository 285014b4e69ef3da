/** Every screen can be read and used without a mouse and without eyes, in both themes. */

import type { Page } from 'playwright-core'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { violations } from '../../scripts/shots/axe.ts'
import { makeShownRuns, type Shown } from '../../scripts/shots/shown-runs.ts'
import { temporaryFolder } from '../support/run.ts'
import { browse, hasBrowser, type Reading, readPages } from './reading-pages.ts'

process.env.RL_RUNS = temporaryFolder()

type Control = { readonly name: string; readonly visible: boolean }

/** Marks the element that has the focus, and returns it. Null if it is the page itself. */
const TAKE_FOCUSED = `(() => {
  const own = document.activeElement
  if (!own || own === document.body) return null
  own.dataset.reached = ''
  const { outlineStyle } = getComputedStyle(own)
  const around = own.closest('.strip')
  const visible = outlineStyle !== 'none' || (around !== null && getComputedStyle(around).outlineStyle !== 'none')
  return { name: own.getAttribute('aria-label') ?? own.textContent.trim() ?? own.tagName, visible }
})()`

/** Texts of the controls that no Tab has reached. Of a row of tabs, one is reached and arrows go on. */
const MISSED = `[...document.querySelectorAll('a[href], button:not(:disabled), input, select, textarea, summary')]
  .filter((one) => one.checkVisibility() && !('reached' in one.dataset) && one.tabIndex >= 0)
  .map((one) => one.outerHTML.slice(0, 120))`

const MOST_TABS = 400

async function walkByTab(page: Page): Promise<void> {
  await page.evaluate('document.activeElement?.blur()')
  for (let i = 0; i < MOST_TABS; i++) {
    await page.keyboard.press('Tab')
    const control = (await page.evaluate(TAKE_FOCUSED)) as Control | null
    if (control === null) break
    assert.ok(control.visible, `the focus on ${control.name} can be seen`)
  }
  assert.equal(await page.evaluate(MISSED), [])
}

/** Lines of the tree of roles that have a role which needs a name, and have none. */
function unnamed(tree: string): readonly string[] {
  return tree
    .split('\n')
    .filter((line) =>
      /^\s*- (link|button|textbox|combobox|checkbox|slider|img|dialog)( \[[^\]]*\])*:?$/.test(line),
    )
}

async function eachScreen(
  { base }: Reading,
  page: Page,
  screens: readonly Shown[],
  work: (shown: Shown) => Promise<void>,
): Promise<void> {
  for (const shown of screens) {
    await page.goto(base + shown.path)
    await page.locator('main h1').first().waitFor({ state: 'attached' })
    await page.locator('.loading, .strip-share').first().waitFor({ state: 'detached' })
    // Marks of the strip are links, and come with its parts.
    if ((await page.locator('.strip').count()) > 0)
      await page.locator('.strip rect.part').first().waitFor({ state: 'attached' })
    await work(shown)
  }
}

if (hasBrowser()) {
  const screens = makeShownRuns(process.env.RL_RUNS)

  test('axe finds nothing on any screen, in both themes', async () => {
    await readPages('/', async (reading) => {
      await browse(
        reading,
        async (page) => {
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme })
            await eachScreen(reading, page, screens, async ({ name }) => {
              assert.equal(await violations(page), [], `${name}, ${colorScheme}`)
            })
          }
        },
        { bypassCSP: true },
      )
    })
  })

  test('each screen has a heading, one main part, and names for all that can be used', async () => {
    await readPages('/', async (reading) => {
      await browse(reading, async (page) => {
        await eachScreen(reading, page, screens, async ({ name }) => {
          assert.is(await page.getByRole('main').count(), 1, name)
          assert.is(await page.getByRole('heading', { level: 1 }).count(), 1, name)
          assert.equal(unnamed(await page.locator('body').ariaSnapshot()), [], name)
        })
      })
    })
  })

  test('Tab reaches every control, and the focus can be seen', async () => {
    await readPages('/', async (reading) => {
      await browse(reading, async (page) => {
        const walked = [
          'runs',
          'overview',
          'iteration',
          'group',
          'trajectory',
          'task',
          'judge',
          'actors',
          'compare',
        ]
        const some = screens.filter(({ name }) => walked.includes(name))
        await eachScreen(reading, page, some, () => walkByTab(page))
      })
    })
  })

  test('a dialog keeps the focus, Enter does what it says, and Escape closes it', async () => {
    await readPages('/r/run', async (reading) => {
      await browse(reading, async (page) => {
        await page.keyboard.press('f')
        await page.getByRole('dialog', { name: 'Make a fork' }).waitFor()
        // Keys of the page are no keys of a dialog.
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        await page.keyboard.press('p')
        assert.is(await page.getByRole('dialog').count(), 0, 'a run that is over cannot be paused')
      })
    })
  })
}

test.run()
