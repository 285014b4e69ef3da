/** A report: one file that opens without a server and without a network. */
import { execFile } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { command } from '../../src/cli/report.ts'
import { command as ui } from '../../src/cli/ui.ts'
import { nodeWords } from '../../src/package.ts'
import { MOST_BYTES, makeReport } from '../../src/ui/server/report.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { madeEvents, writeRun } from './made-run.ts'
import { hasBrowser, openFile } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
unpackFixture(root)
writeRun(root, 'made', madeEvents(6))
const file = join(root, 'x.html')
const RL = nodeWords(new URL('../../src/rl.ts', import.meta.url))

test('the last line tells the file and its size', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...RL, 'report', 'run', '-o', file])
  const { size } = statSync(file)
  assert.is(stdout.trim().split('\n').at(-1), `${file} ${size} bytes`)
  assert.ok(size < MOST_BYTES)
})

test('a full report counts the pages that it leaves out', async () => {
  const whole = await makeReport('made')
  const full = await makeReport('made', undefined, 401 * 1024)
  assert.is(whole.left, 0)
  assert.ok(full.left > 20)
  assert.is(full.held + full.left, whole.held)
})

test('words that are none of its own, and a port that cannot be, are told', async () => {
  const fails = (words: readonly string[]) =>
    ui.run(words).then(
      () => 'no error',
      (error: { readonly code: string; readonly message: string }) => `${error.code} ${error.message}`,
    )
  assert.match(await fails(['run', 'more']), /^cli.usage expected one run/)
  assert.match(
    await fails(['run', '--port', '70000']),
    /^cli.usage --port is '70000', expected at most 65535/,
  )
})

test('an unknown run and a folder that cannot be written are told', async () => {
  const fails = async (words: readonly string[]) =>
    command.run(words).then(
      () => 'no error',
      (error: { readonly code: string }) => error.code,
    )
  assert.is(await fails(['rum', '-o', file]), 'run.unknown')
  assert.is(await fails(['run', '-o', join(root, 'nowhere', 'x.html')]), 'report.not-written')
  assert.is(await fails([]), 'cli.usage')
})

if (hasBrowser()) {
  test('it opens from a file, and links lead from the curve to a step', async () => {
    await openFile(pathToFileURL(file).href, async (page) => {
      await page.getByRole('heading', { name: 'Overview' }).waitFor({ state: 'attached' })
      await page.getByRole('link', { name: 'Iterations' }).click()
      await page.locator('main table a').first().click()
      await page.locator('a.cell').first().click()
      await page.getByRole('heading', { name: /^2\/train-/ }).waitFor()
      await page.locator('tbody summary').first().click()
      assert.is(await page.getByRole('button', { name: 'what if?' }).count(), 0)
      assert.is(await page.getByRole('link', { name: 'Events' }).count(), 0)
      const shown = page.url()
      await page.goBack()
      await page.getByRole('heading', { name: 'Iteration 2' }).waitFor()
      await page.goto(shown)
      await page.getByRole('heading', { name: /^2\/train-/ }).waitFor()
    })
  })

  test('a changed script does not run', async () => {
    const changed = join(root, 'changed.html')
    writeFileSync(
      changed,
      readFileSync(file, 'utf8').replace('</body>', '<script>document.title="got in"</script></body>'),
    )
    await openFile(
      pathToFileURL(changed).href,
      async (page) => {
        assert.is.not(await page.title(), 'got in')
      },
      /Content Security Policy/,
    )
  })
}

test.run()
