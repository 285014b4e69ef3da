/**
 * Eight desktops at a time, an editor on each: clicks a second, each with the screen at rest again and a
 * picture.
 */
import { openDesktop } from '../../packages/environment-desktop/src/local/desktop.ts'
import { missingParts, programPath } from '../../packages/environment-desktop/src/local/sandbox.ts'
import { report } from './report.ts'

const DESKTOPS = 8
const STEPS = 25
const NOTE = '/home/user/Desktop/note.txt'

const missing = [...missingParts(), ...(programPath('mousepad') ? [] : ['mousepad'])]
if (missing.length > 0) process.stdout.write(`SKIP desktop_steps_per_s_8: ${missing.join(', ')} missing\n`)
else await measureDesktops()

async function measureDesktops(): Promise<void> {
  const desktops = await Promise.all(Array.from({ length: DESKTOPS }, () => openDesktop()))
  try {
    await Promise.all(
      desktops.map(async (desktop) => {
        await desktop.writeFile(NOTE, Buffer.from('one\ntwo\n'))
        await desktop.openFile(NOTE)
      }),
    )
    const began = performance.now()
    await Promise.all(
      desktops.map(async (desktop) => {
        for (let i = 0; i < STEPS; i++) {
          await desktop.act([{ type: 'click', at: { x: 400 + 10 * i, y: 300 }, button: 'left', count: 1 }])
          await desktop.screenshot()
        }
      }),
    )
    const perSecond = (DESKTOPS * STEPS * 1000) / (performance.now() - began)
    report({
      suite: 'gui',
      name: 'desktop_steps_per_s_8',
      value: perSecond,
      unit: '1/s',
      goal: '>= 30',
      n: 1,
      note: 'click, rest, PNG of 1280 x 800',
    })
  } finally {
    await Promise.all(desktops.map((desktop) => desktop.close()))
  }
}
