/** The two ways to use a page, and how many actions were taken. */
import type { Locator, Page } from 'playwright-core'

/** One thing to do: where the mouse clicks, and the keys that do the same. */
export type Action = {
  readonly click: (page: Page) => Locator
  /** Each one is an action, e.g. `Enter` or `p`. Keys that are pressed in turn as one command stand together: `g t`. */
  readonly keys: readonly string[]
}

export type Hands = {
  readonly name: 'mouse' | 'keyboard'
  readonly act: (action: Action) => Promise<void>
  readonly actions: () => number
}

/** Clicks, and presses no key. */
export function mouse(page: Page): Hands {
  let actions = 0
  return {
    name: 'mouse',
    actions: () => actions,
    async act({ click }) {
      await click(page).click()
      actions++
    },
  }
}

/** Presses keys, and never moves the mouse. */
export function keyboard(page: Page): Hands {
  let actions = 0
  return {
    name: 'keyboard',
    actions: () => actions,
    async act({ click, keys }) {
      // A person waits until there is something to choose.
      await click(page).waitFor()
      for (const key of keys) {
        for (const part of key.split(' ')) await page.keyboard.press(part)
        actions++
      }
    },
  }
}
