/** What axe finds wrong on a page for people who read it by other means than by eye and mouse. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'
const MOST_HEIGHT = 16_000
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

type Found = {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

/** Returns a line for each rule that a page breaks. */
export async function violations(page: Page): Promise<readonly string[]> {
  const size = page.viewportSize() ?? { width: 1200, height: 750 }
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  // The foot of a page hides what can be scrolled out of its way.
  await page.setViewportSize({ width: size.width, height: Math.min(MOST_HEIGHT, height + 100) })
  await page.evaluate(TWO_FRAMES)
  await page.evaluate(axe.source)
  const found = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] }).then((result) => result.violations)`,
  )) as readonly Found[]
  await page.setViewportSize(size)
  return found.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}, ${nodes.length} times, e.g. ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary?.split('\n')[1]?.trim() ?? ''}`,
  )
}
