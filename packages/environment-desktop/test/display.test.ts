/** Parts of a display over a real X server: requests with a deadline, the keyboard with its lent codes, and windows. */
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openKeyboard } from '../src/local/keyboard.ts'
import { openSandbox } from '../src/local/sandbox.ts'
import { fits, openWindows } from '../src/local/windows.ts'
import { connectDisplay, type X11Connection } from '../src/local/x11.ts'
import { keysymOf, keysymOfCharacter } from '../src/screen/keys.ts'
import { canRun } from './support.ts'

test('a window fits by a part of its title, by its whole title, or by its class', () => {
  const window = { id: 1, title: 'notes.txt - Editor', class: 'editor.Editor' }
  const query = { name: 'notes.TXT', strict: false, byClass: false }
  assert.ok(fits(window, query))
  assert.not(fits(window, { ...query, strict: true }))
  assert.ok(fits(window, { name: 'Editor.editor', strict: true, byClass: true }))
})

/** Returns the code that bears a symbol, and whether it needs Shift, as the server knows it now. */
async function placeOf({ client, ask }: X11Connection, keysym: number) {
  const { min_keycode: first, max_keycode: last } = client.display
  const rows = await ask<readonly (readonly number[])[]>((done) =>
    client.GetKeyboardMapping(first, last - first + 1, done),
  )
  const row = rows.findIndex((symbols) => symbols[0] === keysym || symbols[1] === keysym)
  return row < 0 ? null : { code: first + row, shifted: rows[row][0] !== keysym }
}

if (canRun('parts of a display')) {
  test('keys, lent codes and windows of a display', async () => {
    const sandbox = await openSandbox({ width: 640, height: 400 })
    const connection = await connectDisplay(`/proc/${sandbox.pid}/root/tmp/.X11-unix/X0`)
    try {
      const sent: string[] = []
      const keyboard = await openKeyboard(connection, (how, code) => sent.push(`${how} ${code}`))
      const codeOf = async (keysym: number) => (await placeOf(connection, keysym))?.code
      const [a, shift] = [await codeOf(keysymOf('a') as number), await codeOf(keysymOf('shift') as number)]
      await keyboard.type('A')
      assert.equal(sent.splice(0), [`press ${shift}`, `press ${a}`, `release ${a}`, `release ${shift}`])
      assert.is(await keyboard.codeOf('A'), a)

      // More characters than free codes: the one that was used longest ago loses its code.
      const [first, second] = ['Ж', 'Я'].map((character) => keysymOfCharacter(character) as number)
      await keyboard.type('Ж')
      await keyboard.type('Я')
      const lent = await codeOf(first)
      assert.equal(sent.splice(0, 2), [`press ${lent}`, `release ${lent}`])
      for (let code = 0x4e00; (await placeOf(connection, second)) !== null && code < 0x4f00; code++) {
        await keyboard.type(String.fromCodePoint(code))
        if (await codeOf(first)) await keyboard.type('Ж')
      }
      assert.is(await codeOf(second), undefined)
      assert.is(await codeOf(first), lent)

      // Keys that are prepared have their codes before anything is struck.
      assert.not(await keyboard.lend([keysymOf('a') as number, first]))
      assert.ok(await keyboard.lend([first, second]))
      assert.not(await keyboard.lend([first, second]))
      assert.ok(await codeOf(second))

      const windows = await openWindows(connection)
      assert.not(await windows.activate({ name: 'no such window', strict: false, byClass: false }))
      assert.equal(await windows.geometry(connection.root), { width: 640, height: 400 })
    } finally {
      await sandbox.end()
    }
    const late = connection.sync()
    const error = await late.then(
      () => null,
      (cause: unknown) => cause,
    )
    assert.ok(error instanceof RlError, String(error))
    connection.close()
  })
}

test.run()
