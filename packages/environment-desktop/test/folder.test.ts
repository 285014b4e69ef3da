/** A folder of OSWorld's task files as it is published: some are lists, and some were never finished. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../../../test/support/run.ts'
import { readFolder } from '../src/environment.ts'
import { forgetDoneTasks, recordDoneTasks } from '../src/osworld/done-tasks.ts'

test('a task that was never finished is left out by its name and takes no other with it', () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'os'))
  const write = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value))
  const task = (id: string, evaluator: object) =>
    write(`os/${id}.json`, { id, snapshot: 'os', instruction: 'go', source: '', config: [], evaluator })
  write('test_all.json', { os: ['a', 'b'] })
  task('a', { func: '', result: {}, expected: {} })
  task('b', { func: 'infeasible', postconfig: [], result: {}, expected: {} })
  task('c', { func: ['exact_match', 'is_utc_0'], result: [{ type: 'vm_command_line', command: 'a' }] })
  task('d', { func: 'check_list', result: { type: 'vm_terminal_output' }, expected: { type: 'rule' } })

  const { bySplit, leftOut } = readFolder(folder, () => true)
  assert.equal(
    bySplit('train').map(({ file, kind }) => [file.id, kind]),
    [['b', 'os']],
  )
  const reasons = [...leftOut.keys()].sort()
  assert.is(reasons.length, 3)
  assert.is(reasons[0], 'getter vm_terminal_output')
  assert.match(reasons[1], /^os\/a\.json: evaluator\.func/)
  assert.match(reasons[2], /^task c: evaluator\.result: expected a list of 2/)
})

test('a task is left out for a program, a file or code that is not to be had, by its name', () => {
  const folder = temporaryFolder()
  const task = (id: string, ...config: object[]) =>
    writeFileSync(
      join(folder, `${id}.json`),
      JSON.stringify({ id, instruction: 'go', config, evaluator: { func: 'infeasible' } }),
    )
  const step = (type: string, parameters: object) => ({ type, parameters })
  task('a', step('launch', { command: ['socat', 'tcp-listen:9222,fork', 'tcp:localhost:1337'] }))
  task('b', step('execute', { command: 'nautilus /home/user' }))
  task('c', step('upload_file', { files: [{ local_path: 'assets/c.txt', path: '/home/user/c.txt' }] }))
  task('d', step('execute', { command: "sleep 1; python -c 'import pyautogui'", shell: true }))
  task('e', step('execute', { command: ['python', '-c', 'import pyautogui; pyautogui.screenshot()'] }))
  task(
    'f',
    step('launch', { command: 'mousepad a.txt' }),
    step('execute', { command: ['/home/user/own.sh'] }),
    step('execute', {
      command: [
        'python',
        '-c',
        'import pyautogui; pyautogui.click({SCREEN_WIDTH_HALF}, {SCREEN_HEIGHT_HALF})',
      ],
    }),
  )
  task('g', step('execute', { command: 'true && nautilus --quit', shell: true }))
  task('h', step('execute', { command: 'echo password | sudo -S systemctl stop x', shell: true }))
  const { bySplit, leftOut } = readFolder(folder, (name) => ['mousepad', 'sleep', 'python'].includes(name))
  assert.equal(
    bySplit('train').map(({ file }) => file.id),
    ['f'],
  )
  assert.equal([...leftOut].sort(), [
    ['code of pyautogui that cannot be read', 2],
    ['file not here', 1],
    ['program nautilus', 2],
    ['program socat', 1],
    ['service of sudo', 1],
    ['service of systemctl', 1],
  ])
})

test('a task that counts as done before anything is done is left out by its name', () => {
  const folder = temporaryFolder()
  const evaluator = { func: 'exact_match', result: { type: 'vm_command_line', command: 'a' } }
  for (const id of ['a', 'b'])
    writeFileSync(join(folder, `${id}.json`), JSON.stringify({ id, instruction: 'do', evaluator }))
  const read = () => {
    const { bySplit, leftOut } = readFolder(folder, () => true)
    return [bySplit('train').map(({ file }) => file.id), [...leftOut.keys()]]
  }
  assert.equal(read(), [['a', 'b'], []])
  recordDoneTasks(folder, ['b'])
  assert.equal(read(), [['a'], ['task b, which counts as done before anything is done']])
  writeFileSync(join(folder, 'done-tasks.json'), '{"done": 1}')
  assert.throws(read, /done-tasks\.json is no record of tasks/)
  forgetDoneTasks(folder)
  assert.equal(read(), [['a', 'b'], []])
})

test.run()
