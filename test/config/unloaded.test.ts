/** Keys of settings whose packages are listed and not loaded. */
import '../../src/setting-packages.ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../src/config.ts'
import { registeredSettings } from '../../src/environments/settings.ts'
import { RlError } from '../../src/errors.ts'

function hintFor(key: string): string | undefined {
  try {
    loadConfig({ set: [`environment.${key}=3`] })
  } catch (error) {
    if (error instanceof RlError && error.code === 'config.unknown-key') return error.hint
    throw error
  }
  throw new Error('the config was taken')
}

test('a key of another setting is told with the setting, and with no key that is near by chance', () => {
  assert.not(registeredSettings().some(({ name }) => name === 'web'))
  for (const [key, setting] of [
    ['web.scale', "'web'"],
    ['scale', "'web'"],
    ['sandbox', "'coding'"],
    ['tools.any', "'tools'"],
    ['grammar', "'desktop' or 'web'"],
  ])
    assert.is(hintFor(key), `it belongs to the setting ${setting}, and this config has another one`)
  assert.is(hintFor('taks'), "did you mean 'environment.tasks'?")
  assert.match(hintFor('zebra') ?? '', /^here may stand environment\.name, /)
})

test.run()
