/** The setting keeps the contract of environments, and no desktop takes more of the machine than its share. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDesktop } from '../../../src/environments/desktop/local/desktop.ts'
import { setting } from '../../../src/environments/desktop/setting.ts'
import { createControlGroup } from '../../../src/platform/control-group.ts'
import { testEnvironment } from '../../../src/testing/index.ts'
import { canRun } from './support.ts'

if (canRun('the contract of desktops', 'mousepad', 'xterm'))
  test('the contract of an environment', async () => {
    const tested = await testEnvironment(setting, {
      // Each step is tried three times, on a desktop each.
      set: [
        'environment.desktop.programs=[mousepad, xterm]',
        'environment.desktop.desktops=8',
        'environment.tasks=8',
      ],
      splits: ['train', 'ood'],
      tasks: 1,
      maxSteps: 2,
    })
    assert.is(tested.episodes, 2)
  })

const group = createControlGroup('trial', 0)
await group?.remove()
if (!group) process.stdout.write('SKIP limits of desktops: no control groups can be made here\n')
else if (canRun('limits of desktops')) {
  test('a program that wants all memory is ended, and the desktop goes on', async () => {
    const desktop = await openDesktop()
    try {
      const hungry = 'head -c 6G /dev/zero > /dev/shm/a; head -c 6G /dev/zero | tail'
      const { returncode } = await desktop.execute(hungry, { shell: true })
      assert.is.not(returncode, 0)
      assert.is((await desktop.execute(['echo', 'here'])).output, 'here\n')
      assert.is(desktop.fault(), null)
    } finally {
      await desktop.close()
    }
  })

  test('so many processes and no more, and all of them end with the desktop', async () => {
    const desktop = await openDesktop()
    try {
      // A shell that cannot fork ends: the one around it counts without another process.
      const many =
        '(for i in $(seq 2000); do sleep 600 </dev/null >/dev/null 2>&1 & done) 2>/dev/null; set -- /proc/[0-9]*; echo $#'
      const { output, error } = await desktop.execute(many, { shell: true })
      const count = Number(output)
      assert.ok(count > 100 && count <= 1_024, `${count} processes: ${error}`)
    } finally {
      await desktop.close()
    }
  })
}

test.run()
