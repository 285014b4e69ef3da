/** Local desktops: input arrives, the screen is seen, programs reach nothing outside, a fault is told as one, and nothing stays behind. */
import { spawn } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { request } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AccessibleNode, Executed } from '../../../src/environments/desktop/computer.ts'
import { type LocalDesktop, openDesktop } from '../../../src/environments/desktop/local/desktop.ts'
import { fromXml, toXml } from '../../../src/environments/desktop/osworld/accessibility-xml.ts'
import { startDesktopServer } from '../../../src/environments/desktop/osworld/server.ts'
import { pngSize } from '../../../src/environments/screen/png.ts'
import { RlError } from '../../../src/errors.ts'
import { isAlive } from '../../support/processes.ts'
import { until } from '../../support/run.ts'
import { canRun } from './support.ts'

const NOTE = '/home/user/Desktop/note.txt'

const isFault = (error: unknown) => error instanceof RlError && error.code === 'desktop.died'

function all(node: AccessibleNode): readonly AccessibleNode[] {
  return [node, ...node.children.flatMap(all)]
}

/** A busy machine may take longer to write a file, and to tell what it shows, than a desktop is waited for to be at rest. */
async function untilSaved(desktop: LocalDesktop, text: string): Promise<void> {
  await until(`'${text}' is saved`, async () => String(await desktop.readFile(NOTE)) === text)
}

if (canRun('local desktops', 'mousepad', 'xterm')) {
  test('what is typed arrives, letters without a key included, and the tree and the picture show it', async () => {
    const desktop = await openDesktop()
    try {
      await desktop.writeFile(NOTE, Buffer.from('one\n'))
      await desktop.openFile(NOTE)
      await desktop.act([
        { type: 'hotkey', keys: ['ctrl', 'end'] },
        { type: 'type', text: 'Zürich €日本 <a> A_B!\n\ttwo' },
        { type: 'hotkey', keys: ['ctrl', 's'] },
      ])
      const saved = 'one\nZürich €日本 <a> A_B!\n\ttwo'
      await untilSaved(desktop, saved)
      let tree: AccessibleNode
      await until('the tree shows it', async () => {
        tree = (await desktop.accessibility()) as AccessibleNode
        return all(tree).some(({ role, text }) => role === 'text' && text === saved)
      })
      assert.equal(fromXml(toXml(tree!)), tree!)
      assert.equal(pngSize(await desktop.screenshot()), { width: 1280, height: 800 })
      await desktop.reset()
      assert.is(await desktop.readFile(NOTE), null)
    } finally {
      await desktop.close()
    }
  })

  test('an episode ends when a program that stands still for a moment has saved its file', async () => {
    const desktop = await openDesktop()
    try {
      await desktop.launch(['xterm', '-e', 'sh', '-c', `read answer; sleep 0.15; echo "$answer" >${NOTE}`])
      await desktop.waitForWindow({ name: 'xterm', strict: false, byClass: true })
      await desktop.act([
        { type: 'type', text: 'yes\n' },
        { type: 'end', status: 'done' },
      ])
      assert.is(String(await desktop.readFile(NOTE)), 'yes\n')
    } finally {
      await desktop.close()
    }
  })

  test('a long text in many letters without a key arrives as it was typed', async () => {
    const desktop = await openDesktop()
    try {
      await desktop.writeFile(NOTE, Buffer.from(''))
      await desktop.openFile(NOTE)
      const text = Array.from({ length: 24 }, (_, i) => String.fromCodePoint(0x4e00 + 7 * (i % 12))).join('')
      await desktop.act([
        { type: 'type', text },
        { type: 'hotkey', keys: ['ctrl', 's'] },
      ])
      await untilSaved(desktop, text)
    } finally {
      await desktop.close()
    }
  })

  test('programs have no network, no files of this machine and none of its processes', async () => {
    const desktop = await openDesktop()
    try {
      const { output } = await desktop.execute('cat /proc/net/dev | grep -c :; ls -A /home; ls /root', {
        shell: true,
      })
      assert.match(output, /^1\nuser\n/)
      assert.is((await desktop.execute(['id', '-u'])).output, '1000\n')
      assert.is(await desktop.readFile('/etc/shadow'), null)
      const slow = await desktop
        .execute(['sleep', '60'], { timeoutMs: 100 })
        .catch((error: RlError) => error.code)
      assert.is(slow, 'desktop.refused')
    } finally {
      await desktop.close()
    }
  })

  test('what a program is told and says may hold every end of a line that there is', async () => {
    const desktop = await openDesktop()
    try {
      const text = 'a\u2028b\u2029c\r\nd\u0085e\0'
      await desktop.writeFile('~/text', Buffer.from(text))
      assert.is((await desktop.execute(['cat', 'text'])).output, text)
      assert.is((await desktop.execute(['printf', '%s', 'a\u2028b'])).output, 'a\u2028b')
      assert.is((await desktop.execute('kill -ABRT $$', { shell: true })).returncode, -6)
      assert.is(desktop.fault(), null)
    } finally {
      await desktop.close()
    }
  })

  test('what is no file that can be read is none, whatever a program has put in its place', async () => {
    const desktop = await openDesktop()
    try {
      const made =
        'mkdir a; mkfifo b; ln -s /dev/zero c; echo x > d; chmod 0 d; ln -s e e; echo x > f; ln -s f g; truncate -s 100M h'
      await desktop.execute(made, { shell: true })
      for (const path of ['~/a', '~/b', '~/c', '~/d', '~/e', '~/h'])
        assert.is(await desktop.readFile(path), null, path)
      assert.is(String(await desktop.readFile('~/g')), 'x\n')
    } finally {
      await desktop.close()
    }
  })

  test('a program that crashes and a display that ends are faults of the desktop', async () => {
    for (const crash of ['kill -SEGV $$', 'kill -9 $(pidof Xvfb)']) {
      const desktop = await openDesktop()
      try {
        await desktop.launch(crash, { shell: true })
        await until('the fault', () => desktop.fault() !== null)
        await desktop.act([{ type: 'move', to: { x: 1, y: 1 } }]).then(
          () => assert.unreachable('it acted on'),
          (error) => assert.ok(isFault(error), String(error)),
        )
      } finally {
        await desktop.close()
      }
    }
  })

  test('a call whose connection breaks is done once however often it is repeated, and anew once another has come', async () => {
    const desktop = await openDesktop()
    const server = await startDesktopServer({ desktop })
    try {
      const command = 'touch ~/begun; sleep 0.3; echo x >> ~/log'
      const body = JSON.stringify({ command, shell: true })
      const headers = { 'content-type': 'application/json' }
      const lose = async (how: 'begun' | 'repeated') => {
        if (how === 'begun') await desktop.execute('rm -f ~/begun', { shell: true })
        const lost = request(`${server.url}/execute`, { method: 'POST', headers })
        lost.on('error', () => {})
        lost.end(body)
        if (how === 'begun')
          await until('the command', async () => (await desktop.readFile('~/begun')) !== null)
        await new Promise((resolve) => lost.once('close', resolve).destroy())
      }
      const call = () => fetch(`${server.url}/execute`, { method: 'POST', headers, body })
      const times = async () => ((await desktop.readFile('~/log'))?.length ?? 0) / 2
      await lose('begun')
      await lose('repeated')
      await call()
      assert.is(await times(), 1)
      await call()
      assert.is(await times(), 2, 'its answer was delivered')
      await lose('begun')
      // A client that waited in vain goes on with what it sees.
      await fetch(`${server.url}/platform`)
      await call()
      await until('what it had gone on with', async () => (await times()) === 4)
      const page = await fetch(`${server.url}/screenshot`, { headers: { origin: 'http://example.org' } })
      assert.is(page.status, 403)
    } finally {
      await server.close()
      await desktop.close()
    }
  })

  test("what the client asks for behind its pyautogui is told as the desktop's own Python tells it", async () => {
    const desktop = await openDesktop()
    const server = await startDesktopServer({ desktop })
    try {
      const execute = async (command: unknown, shell = false): Promise<Executed> => {
        const body = JSON.stringify({ command, shell })
        return (await fetch(`${server.url}/execute`, { method: 'POST', body })).json() as Promise<Executed>
      }
      for (const question of [
        'import platform; print(platform.machine())',
        "import os; print(os.path.expanduser('~/.config/vlc/vlcrc'))",
        "import os; print(os.path.join(os.getenv('HOME'), '.config/google-chrome/Default/Preferences'))",
      ]) {
        const answer = await execute(['python', '-c', `import pyautogui; import time; ${question}`])
        assert.equal(answer, { status: 'success', ...(await desktop.execute(['python3', '-c', question])) })
      }
      await execute('python -c "import pyautogui; pyautogui.moveTo(3, 4)"', true)
      assert.equal(await desktop.pointer(), { x: 3, y: 4 })
      const part = await execute('sleep 0; python -c "import pyautogui; pyautogui.moveTo(5, 6)"', true)
      assert.is(part.returncode, 1)
      assert.match(part.error, /by itself/)
    } finally {
      await server.close()
      await desktop.close()
    }
  })

  test('an address that is none is answered, and the server goes on', async () => {
    const desktop = await openDesktop()
    const server = await startDesktopServer({ desktop })
    try {
      const status = await new Promise((resolve, reject) => {
        request({ port: server.port, path: '//' }, (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end()
      })
      assert.is(status, 404)
      assert.is(await (await fetch(`${server.url}/platform`)).text(), 'Linux')
    } finally {
      await server.close()
      await desktop.close()
    }
  })

  test('after SIGKILL of its owner nothing of a desktop is left', async () => {
    const owner = spawn(process.execPath, ['--input-type=module', '-e', OWNER], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    owner.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
    await until('a desktop', () => said.includes('\n'))
    const pid = Number(said)
    assert.ok(members(pid).length > 4, 'a display, buses, a window manager')
    const before = members(pid)
    owner.kill('SIGKILL')
    await until('the end of its processes', () => before.every((one) => !isAlive(one)))
  })
}

const OWNER = `
const { openSandbox } = await import('./src/environments/desktop/local/sandbox.ts')
const sandbox = await openSandbox({ width: 640, height: 480 })
process.stdout.write(sandbox.pid + '\\n')
setInterval(() => {}, 1000)
`

/** Processes of the same namespace. */
function members(pid: number): readonly number[] {
  const mine = namespaceOf(pid)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && namespaceOf(Number(name)) === mine)
    .map(Number)
}

function namespaceOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return null
  }
}

test.run()
