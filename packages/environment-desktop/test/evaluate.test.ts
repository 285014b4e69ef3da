/** Task files as OSWorld publishes them, set up and judged on a desktop. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { errorOf } from '../../../test/support/error-of.ts'
import type { Computer } from '../src/computer.ts'
import { type LocalDesktop, openDesktop } from '../src/local/desktop.ts'
import { evaluate } from '../src/osworld/evaluate.ts'
import { type SetupContext, setUp } from '../src/osworld/setup.ts'
import { writeWorkbook } from '../src/osworld/spreadsheet.ts'
import { readTaskFile } from '../src/osworld/task-file.ts'
import { canRun } from './support.ts'

type Steps = readonly { readonly type: string; readonly parameters: object }[]

/** The score of a task whose set-up does everything. */
async function scoreOf(computer: Computer, evaluator: object, config: Steps = []): Promise<number> {
  const task = readTaskFile({ id: 'task-1', instruction: 'go', config, evaluator }, 'task-1')
  const context: SetupContext = { computer, task: 'task-1', folder: null, cache: new Map() }
  await setUp(context, task.config)
  return evaluate(context, task, false)
}

async function onDesktop(work: (computer: Computer) => Promise<void>): Promise<void> {
  const computer = await openDesktop()
  try {
    await work(computer)
  } finally {
    await computer.close()
  }
}

const write = (path: string, bytes: Uint8Array) => ({
  type: 'write_file',
  parameters: { path, base64: Buffer.from(bytes).toString('base64') },
})
const execute = (parameters: object) => ({ type: 'execute', parameters })

if (canRun('evaluation')) {
  test('what a program of the set-up said is what its task judges', () =>
    onDesktop(async (computer) => {
      const listing = {
        postconfig: [execute({ command: ['ls', '-R', '/home/user/mail'], stdout: 'folders.ls' })],
        func: 'check_list',
        result: { type: 'cache_file', path: 'folders.ls' },
        expected: { type: 'rule', rules: { expect: ['\\bCOMPANY\\.msf\\b', '\\bCOMPANY/?(?!\\.msf)'] } },
      }
      const mkdir = (name: string) => execute({ command: `mkdir -p ~/mail/${name}`, shell: true })
      assert.is(await scoreOf(computer, listing, [mkdir('OTHER')]), 0)
      assert.is(await scoreOf(computer, listing, [mkdir('COMPANY'), mkdir('COMPANY.msf')]), 1)
      const errors = {
        func: 'check_list',
        result: { type: 'cache_file', path: 'said' },
        expected: { type: 'rule', rules: { expect: ['^lost$'] } },
      }
      const said = execute({ command: 'echo lost >&2', shell: true, stderr: 'said' })
      assert.is(await scoreOf(computer, errors, [said]), 1)
    }))

  test('a program of the set-up that fails ends it, and one behind the work of the agent does not', () =>
    onDesktop(async (computer) => {
      const evaluator = { func: 'infeasible' }
      for (const failing of [
        execute({ command: 'mkdir /proc/a', shell: true }),
        execute({ command: ['cp', '/no/file', '/tmp'] }),
        { type: 'command', parameters: { command: 'cd /no/folder', shell: true } },
      ]) {
        const error = await errorOf(scoreOf(computer, evaluator, [failing]))
        assert.is(error.code, 'desktop.task')
        assert.match(error.message, /the step '(execute|command)' failed: status [1-9]\d*: \S/)
      }
      const idle = execute({ command: 'pkill -x no-such-program', shell: true })
      const behind = { ...evaluator, postconfig: [execute({ command: 'false' })] }
      assert.is(await scoreOf(computer, behind, [idle]), 0)
    }))

  test('a program is run again until one of the things that are waited for is there', () =>
    onDesktop(async (computer) => {
      const command = 'echo x >> ~/tries; test $(wc -l < ~/tries) -ge 9 && echo now'
      const until = { returncode: 77, stdout: 'now' }
      await scoreOf(computer, { func: 'infeasible' }, [execute({ command, shell: true, until })])
      assert.is((await computer.execute('wc -l < ~/tries', { shell: true })).output, '9\n')
    }))

  test('a program that is not there is passed over, and code of pyautogui in one text is done', () =>
    onDesktop(async (computer) => {
      const pointer = 'python -c "import pyautogui; pyautogui.moveTo(3, 4)"'
      await scoreOf(computer, { func: 'infeasible' }, [
        { type: 'launch', parameters: { command: ['no-such-program'] } },
        execute({ command: 'no-such-program --quit', until: { returncode: 0 } }),
        execute({ command: pointer, shell: true }),
      ])
      assert.equal(await (computer as LocalDesktop).pointer(), { x: 3, y: 4 })
    }))

  test('sheet_print compares what the exports of sheets show, and not the values below', () =>
    onDesktop(async (computer) => {
      const evaluator = (name: string) => {
        const source = (of: string) => ({
          type: 'vm_file',
          path: [`~/${of}.xlsx`, `~/${of}-Sheet1.csv`],
          dest: [`${of}.xlsx`, `${of}-Sheet1.csv`],
          multi: true,
        })
        const rule = { type: 'sheet_print', sheet_idx0: 0, sheet_idx1: 'EI0' }
        return {
          func: 'compare_table',
          result: source(name),
          expected: source('gold'),
          options: { rules: [rule] },
        }
      }
      const book = (name: string, value: number, shown: string) => [
        write(`~/${name}.xlsx`, writeWorkbook([['id', value]])),
        ...(shown === '' ? [] : [write(`~/${name}-Sheet1.csv`, Buffer.from(`id,${shown}\r\n\r\n`))]),
      ]
      const gold = book('gold', 7, '0000007')
      assert.is(await scoreOf(computer, evaluator('plain'), [...gold, ...book('plain', 7, '7')]), 0)
      assert.is(await scoreOf(computer, evaluator('other'), [...gold, ...book('other', 7.1, '0000007')]), 1)
      assert.is(await scoreOf(computer, evaluator('none'), [...gold, ...book('none', 7, '')]), 0)
    }))
}

test.run()
