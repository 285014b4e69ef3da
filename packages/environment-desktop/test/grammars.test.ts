import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AccessibleNode } from '../src/computer.ts'
import { parseCommand, targetsIn } from '../src/grammars/commands.ts'
import { codeOf } from '../src/osworld/client.ts'
import { pyautoguiIn } from '../src/osworld/pyautogui-command.ts'
import type { ScreenAction } from '../src/screen/action.ts'
import { parseAnswer, seeingBy } from '../src/screen/answer.ts'
import { parseComputer13 } from '../src/screen/grammars/computer-13.ts'
import { parseComputerUse } from '../src/screen/grammars/computer-use.ts'
import { parsePyautogui, parseScript } from '../src/screen/grammars/pyautogui.ts'
import { parseUiTars } from '../src/screen/grammars/ui-tars.ts'

const SCREEN = { width: 1280, height: 800 }
const click = (x: number, y: number, count = 1, button = 'left') => ({
  type: 'click',
  at: { x, y },
  button,
  count,
})

const PYAUTOGUI: readonly (readonly [string, readonly object[]])[] = [
  ['pyautogui.click(640, 400)', [click(640, 400)]],
  ["pyautogui.click(button='left', x=10, y=20, clicks=2)", [click(10, 20, 2)]],
  ['pyautogui.click((3, 4))', [click(3, 4)]],
  ['pyautogui.click()', [{ type: 'click', at: null, button: 'left', count: 1 }]],
  ['pyautogui.doubleClick(5.9, 6)', [click(5, 6, 2)]],
  ['pyautogui.rightClick(x=5, y=6)', [click(5, 6, 1, 'right')]],
  ['pyautogui.moveTo(5, 6, 0.98, pyautogui.easeInElastic)', [{ type: 'move', to: { x: 5, y: 6 } }]],
  [
    "pyautogui.dragTo(5, 6, duration=1.0, button='left', mouseDownUp=True)",
    [{ type: 'drag', to: { x: 5, y: 6 }, button: 'left' }],
  ],
  ['pyautogui.hscroll(0)', [{ type: 'scroll', at: null, dx: 0, dy: 0 }]],
  ['pyautogui.vscroll(-3)', [{ type: 'scroll', at: null, dx: 0, dy: -3 }]],
  ['pyautogui.scroll(5, x=1, y=2)', [{ type: 'scroll', at: { x: 1, y: 2 }, dx: 0, dy: 5 }]],
  [`pyautogui.typewrite("it's")`, [{ type: 'type', text: "it's" }]],
  [`pyautogui.write('a\\n\\u20ac\\'', interval=0.1)`, [{ type: 'type', text: "a\n€'" }]],
  ["pyautogui.hotkey('ctrl', 'c')", [{ type: 'hotkey', keys: ['ctrl', 'c'] }]],
  ["pyautogui.hotkey(['ctrl', 'c'])", [{ type: 'hotkey', keys: ['ctrl', 'c'] }]],
  ["pyautogui.press('Down', presses=2)", [{ type: 'press', keys: ['down', 'down'] }]],
  [
    "pyautogui.keyDown('shift'); pyautogui.keyUp('shift')",
    [
      { type: 'key-down', key: 'shift' },
      { type: 'key-up', key: 'shift' },
    ],
  ],
  ['import time\ntime.sleep(0.5)  # a while', [{ type: 'wait', seconds: 0.5 }]],
  ['WAIT', [{ type: 'wait', seconds: 1 }]],
  ['DONE', [{ type: 'end', status: 'done' }]],
  ['FAIL', [{ type: 'end', status: 'fail' }]],
]

test('an answer that would keep a desktop for hours is refused, and half a character is none', () => {
  const keys = `pyautogui.press([${Array(64).fill("'a'")}], presses=64)\n`
  for (const [code, why] of [
    [keys.repeat(3), /12288 letters, keys and clicks, more than 10000/],
    ['time.sleep(40)\ntime.sleep(40)', /80 seconds of waiting/],
    ["pyautogui.write('a\\ud800')", /half of a character/],
  ] as const)
    for (const read of [parsePyautogui, (text: string) => parseAnswer('pyautogui', text, SCREEN)])
      assert.throws(
        () => read(code),
        (error: RlError) => error.code === 'screen.action' && why.test(error.message),
      )
  assert.is(parsePyautogui(keys.repeat(2)).length, 2)
})

for (const [code, actions] of PYAUTOGUI)
  test(`pyautogui: ${JSON.stringify(code)}`, () => assert.equal(parsePyautogui(code), actions))

test("pyautogui: a text whose < the client has rewritten, behind the client's own lines", () => {
  const code = `import pyautogui; import time; pyautogui.FAILSAFE = False; pyautogui.typewrite('a '); pyautogui.hotkey("shift", ","); pyautogui.typewrite(' b')`
  assert.equal(parsePyautogui(code), [
    { type: 'type', text: 'a ' },
    { type: 'hotkey', keys: ['shift', ','] },
    { type: 'type', text: ' b' },
  ])
})

test('pyautogui: the platform is told without a Python', () => {
  const code =
    'import pyautogui; import time; pyautogui.FAILSAFE = False; import platform; print(platform.system())'
  assert.equal(parseScript(code), { actions: [], output: 'Linux\n' })
})

test("pyautogui: what the client's getters ask for is told without a Python, and nothing else is", () => {
  const machine = { architecture: 'x86_64', home: '/home/user' }
  const prefix = 'import pyautogui; import time; pyautogui.FAILSAFE = False; '
  const asked = (question: string) =>
    parseScript(`${prefix}import os; import platform; print(${question})`, machine)
  for (const [question, answer] of [
    ['platform.machine()', 'x86_64'],
    ["os.path.expanduser('~/.config/vlc/vlcrc')", '/home/user/.config/vlc/vlcrc'],
    ["os.path.expanduser('~')", '/home/user'],
    ["os.path.expanduser('/a/~')", '/a/~'],
    [
      "os.path.join(os.getenv('HOME'),\n  '.config/google-chrome', 'Default')",
      '/home/user/.config/google-chrome/Default',
    ],
    ["os.path.join('/a', '/b')", '/b'],
  ])
    assert.equal(asked(question), { actions: [], output: `${answer}\n` }, question)
  for (const question of [
    "os.getenv('PATH')",
    "os.listdir('/')",
    'os.path.join()',
    'os.environ',
    "open('a')",
  ])
    assert.throws(
      () => asked(question),
      (error: unknown) => error instanceof RlError,
      question,
    )
})

test("pyautogui: the newer client's rule for Shift is passed over", () => {
  const code =
    "import pyautogui; import time; import platform; pyautogui.FAILSAFE = False; _osworld_shift_chars = 'A' + chr(123); " +
    "pyautogui.isShiftCharacter = lambda character: character in ('B' if platform.system() == 'Linux' else _osworld_shift_chars); " +
    'pyautogui.click(1, 2)'
  assert.equal(parsePyautogui(code), [click(1, 2)])
})

test('commands of pyautogui are known as words and as one text, and told where they are but a part', () => {
  const code = "import pyautogui; pyautogui.write('a')"
  assert.is(pyautoguiIn(['python3', '-c', code]), code)
  assert.is(pyautoguiIn(`python -c "${code}"`), code)
  assert.is(
    pyautoguiIn(`/usr/bin/python3 -c "import pyautogui; pyautogui.write(\\"a\\")"`),
    'import pyautogui; pyautogui.write("a")',
  )
  assert.is(pyautoguiIn("python -c 'import pyautogui'"), 'import pyautogui')
  for (const other of [
    'grep pyautogui a.py',
    'pip install pyautogui',
    'python -c "print(1)"',
    ['python', 'pyautogui.py'],
  ])
    assert.is(pyautoguiIn(other), null)
  for (const part of [
    `sleep 1; python -c "${code}"`,
    `python -c "${code}" && ls`,
    'python -c "import pyautogui; $(id)"',
  ])
    assert.throws(() => pyautoguiIn(part), /by itself/)
})

test('keys: < goes to a server by its own keys, and other names of keys by those of pyautogui', () => {
  assert.is(
    codeOf({ type: 'press', keys: ['a', '<'] }),
    'pyautogui.press("a"); pyautogui.hotkey("shift", ",")',
  )
  assert.is(codeOf({ type: 'hotkey', keys: ['ctrl', '<'] }), 'pyautogui.hotkey("ctrl", "shift", ",")')
  assert.is(codeOf({ type: 'key-down', key: '<' }), 'pyautogui.keyDown("shift"); pyautogui.keyDown(",")')
  assert.is(codeOf({ type: 'key-up', key: '<' }), 'pyautogui.keyUp(","); pyautogui.keyUp("shift")')
  assert.equal(parseCommand('press Control+ArrowDown', []), [{ type: 'hotkey', keys: ['ctrl', 'down'] }])
})

test('elements whose names begin alike have labels of their own', () => {
  const node = (name: string, x: number): AccessibleNode => ({
    ...{ role: 'link', name, description: '', states: ['showing'], text: null, value: null, children: [] },
    box: { x, y: 0, width: 2, height: 2 },
  })
  const root = {
    ...node('', 0),
    children: ['1', '2'].map((end, i) => node(`${'a'.repeat(90)}${end}`, 10 * i)),
  }
  assert.equal(
    targetsIn(root).map(({ label }) => label.slice(-4)),
    ['aaa"', 'a" 2'],
  )
})

test('buttons by the name that newer systems have for them, and fields without a name, can be named', () => {
  const node = (role: string, name: string): AccessibleNode => ({
    ...{ role, name, description: '', states: ['showing'], text: null, value: null, children: [] },
    box: { x: 0, y: 0, width: 2, height: 2 },
  })
  const root = {
    ...node('frame', ''),
    children: [
      ...[node('button', 'Save'), node('push button', 'Open'), node('label', 'no')],
      ...[node('password text', ''), node('spin button', 'size')],
    ],
  }
  assert.equal(
    targetsIn(root).map(({ label }) => label),
    ['"Save"', '"Open"', '"password text"', '"size"'],
  )
})

const REFUSED: readonly (readonly [string, RegExp])[] = [
  ["import os; os.system('id')", /os\.system is not a function/],
  ['import subprocess', /module subprocess/],
  ["__import__('os').system('id')", /expected the end of the statement/],
  ["pyautogui.click(eval('1'), 2)", /"eval" is no value/],
  ['pyautogui.click(x=1+1, y=2)', /expected '\)'/],
  ["pyautogui.press('nokey')", /no key "nokey"/],
  ['pyautogui.click(1)', /y is undefined|y is/],
  ['pyautogui.click(1, 2, 3, 4, 5, 6, 7, 8, 9)', /9 arguments/],
  ['pyautogui.click(1, 2, x=3)', /x twice/],
  ["pyautogui.typewrite('open", /end of a text/],
  ['for i in range(3): pyautogui.click(1, 2)', /expected '\('/],
  ['time.sleep(1e9)', /seconds is 1000000000/],
  ['pyautogui.screenshot()', /not a function/],
  ['x = 1', /cannot be set/],
  [`pyautogui.typewrite('${'a'.repeat(20_000)}')`, /20000 characters/],
  ['', /does nothing/],
  ['pyautogui.constructor("return 1")()', /expected the end|not a function/],
]

for (const [code, why] of REFUSED)
  test(`pyautogui refuses ${JSON.stringify(code.slice(0, 60))}`, () => {
    assert.throws(
      () => parsePyautogui(code),
      (error: unknown) =>
        error instanceof RlError && error.code === 'screen.action' && why.test(error.message),
    )
  })

test('computer_13: parameters in their own field and beside the type', () => {
  const cases: readonly (readonly [unknown, object])[] = [
    [{ action_type: 'CLICK', parameters: { button: 'left', x: 10, y: 20, num_clicks: 2 } }, click(10, 20, 2)],
    [
      { action_type: 'MOVE_TO', x: 5, y: 6 },
      { type: 'move', to: { x: 5, y: 6 } },
    ],
    [
      { action_type: 'SCROLL', dx: 0, dy: -3 },
      { type: 'scroll', at: null, dx: 0, dy: -3 },
    ],
    [
      { action_type: 'TYPING', text: "it's" },
      { type: 'type', text: "it's" },
    ],
    [
      { action_type: 'HOTKEY', keys: ['ctrl', 'c'] },
      { type: 'hotkey', keys: ['ctrl', 'c'] },
    ],
    ['{"action_type": "KEY_DOWN", "parameters": {"key": "shift"}}', { type: 'key-down', key: 'shift' }],
    [{ action_type: 'DONE' }, { type: 'end', status: 'done' }],
    ['FAIL', { type: 'end', status: 'fail' }],
  ]
  for (const [source, action] of cases) assert.equal(parseComputer13(source), [action])
  for (const wrong of [
    {},
    [],
    7,
    null,
    '{',
    { action_type: 'JUMP' },
    { action_type: 'CLICK', z: 1 },
    { action_type: 'HOTKEY', keys: 'a' },
  ])
    assert.throws(
      () => parseComputer13(wrong),
      (error: unknown) => error instanceof RlError,
    )
})

test('computer_use: coordinates from 0 to 999 over the screen', () => {
  const answer = (fields: object) =>
    `Action: go on\n<tool_call>\n${JSON.stringify({ name: 'computer_use', arguments: fields })}\n</tool_call>`
  const cases: readonly (readonly [object, readonly object[]])[] = [
    [{ action: 'left_click', coordinate: [500, 500] }, [click(640, 400)]],
    [{ action: 'double_click', coordinate: [999, 0] }, [click(1279, 0, 2)]],
    [{ action: 'key', keys: ['ctrl', 's'] }, [{ type: 'hotkey', keys: ['ctrl', 's'] }]],
    [{ action: 'key', keys: ['enter'] }, [{ type: 'press', keys: ['enter'] }]],
    [{ action: 'type', text: 'a' }, [{ type: 'type', text: 'a' }]],
    [{ action: 'scroll', pixels: -5 }, [{ type: 'scroll', at: null, dx: 0, dy: -5 }]],
    [{ action: 'terminate', status: 'failure' }, [{ type: 'end', status: 'fail' }]],
  ]
  for (const [fields, actions] of cases) assert.equal(parseComputerUse(answer(fields), SCREEN), actions)
  for (const wrong of [
    '',
    '<tool_call>{}</tool_call>',
    answer({ action: 'left_click', coordinate: [1, 2000] }),
    answer({ action: 'fly' }),
  ])
    assert.throws(
      () => parseComputerUse(wrong, SCREEN),
      (error: unknown) => error instanceof RlError,
    )
})

test('UI-TARS: points and boxes over 1000, and over the pixels of a resized image', () => {
  const of = (action: string) => parseUiTars(`Thought: now\nAction: ${action}`, SCREEN)
  assert.equal(of("click(point='<point>500 500</point>')"), [click(640, 400)])
  assert.equal(of("left_double(start_box='<|box_start|>(500,250)<|box_end|>')"), [click(640, 200, 2)])
  assert.equal(of("hotkey(key='ctrl c')"), [{ type: 'hotkey', keys: ['ctrl', 'c'] }])
  assert.equal(of("scroll(point='<point>0 0</point>', direction='down')"), [
    { type: 'scroll', at: { x: 0, y: 0 }, dx: 0, dy: -5 },
  ])
  assert.equal(of("drag(start_point='<point>0 0</point>', end_point='<point>100 100</point>')"), [
    { type: 'move', to: { x: 0, y: 0 } },
    { type: 'drag', to: { x: 128, y: 80 }, button: 'left' },
  ])
  for (const place of [
    '<bbox>400 300 600 700</bbox>',
    '[400, 300, 600, 700]',
    '<|box_start|>(400,300,600,700)<|box_end|>',
    '(500,500)',
    '<point> 500, 500 </point>',
    '<bbox>500 500',
  ])
    assert.equal(of(`click(start_box='${place}')`), [click(640, 400)], place)
  assert.equal(of("press(key='arrowdown')"), [{ type: 'press', keys: ['down'] }])
  for (const place of ['<point>1 2 3</point>', '1.2.3 4', '1', '<bbox>1 2000 3 4</bbox>'])
    assert.throws(() => of(`click(point='${place}')`), /expected/, place)
  assert.equal(of("finished(content='ok')"), [{ type: 'end', status: 'done' }])
  assert.equal(parseUiTars("Action: click(start_box='(320,200)')", SCREEN, { width: 640, height: 400 }), [
    click(640, 400),
  ])
  for (const wrong of ['', 'Action: ', 'Action: fly()', "Action: click(point='x')"])
    if (wrong !== 'Action: ')
      assert.throws(
        () => parseUiTars(wrong, SCREEN),
        (error: unknown) => error instanceof RlError,
      )
})

test('computer_use: of several calls the last counts, however many are not closed', () => {
  const call = (text: string) =>
    `<tool_call>{"name": "computer_use", "arguments": {"action": "type", "text": "${text}"}}</tool_call>`
  assert.equal(parseComputerUse(`${call('a')} ${call('b')}<tool_call>`, SCREEN), [
    { type: 'type', text: 'b' },
  ])
  assert.throws(() => parseComputerUse('<tool_call>'.repeat(5_900), SCREEN), /no <tool_call>/)
})

test('a direction that every object has is none', () => {
  for (const name of ['constructor', 'toString', '__proto__']) {
    const refuses = (read: () => unknown) =>
      assert.throws(read, (error: unknown) => error instanceof RlError && error.code === 'screen.action')
    refuses(() => parseUiTars(`Action: scroll(direction='${name}')`, SCREEN))
    refuses(() => parseCommand(`scroll ${name}`, []))
  }
})

test('an answer of blanks without end is read to its end', () => {
  /** A pattern that tries them in all ways would hold up this process for ever. */
  const ends = <Value>(read: () => Value): Value => runInNewContext('read()', { read }, { timeout: 10_000 })
  const [spaces, lines] = [' '.repeat(60_000), '\n'.repeat(60_000)]
  const seeing = seeingBy('ui-tars')
  for (const place of [spaces, `<point>${spaces}`, `(${spaces}1${spaces}`])
    assert.is(
      ends(() => seeing?.invalid(`Action: click(point='${place}')`)),
      'it holds no action',
    )
  assert.is(
    ends(() => seeing?.brief(lines)),
    '',
  )
  assert.is(
    ends(() => seeing?.brief(`${lines}Action: go on${lines}`)),
    'go on',
  )
})

const SNIPPETS = [
  'pyautogui.',
  'click',
  '(',
  ')',
  "'",
  '"',
  '1',
  ', ',
  'x=',
  '[',
  ']',
  '\\',
  '\n',
  ';',
  'import ',
  'time.sleep',
  '{',
  '}',
  '"action_type": ',
  '"CLICK"',
  '<tool_call>',
  '</tool_call>',
  'Action: ',
  '-',
  '1e9',
  '\u0000',
  '😀',
]

test('whatever is written, a grammar gives actions of its own form or a clear error', () => {
  const source = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.array(fc.constantFrom(...SNIPPETS), { maxLength: 20 }).map((parts) => parts.join('')),
    fc.json(),
  )
  const grammars: readonly ((text: string) => readonly ScreenAction[])[] = [
    parsePyautogui,
    parseComputer13,
    (text) => parseComputerUse(text, SCREEN),
    (text) => parseUiTars(text, SCREEN),
  ]
  fc.assert(
    fc.property(source, fc.integer({ min: 0, max: 3 }), (text, which) => {
      try {
        for (const action of grammars[which](text)) assert.type(action.type, 'string')
      } catch (error) {
        if (!(error instanceof RlError && error.code === 'screen.action')) throw error
      }
    }),
    { numRuns: 10_000 },
  )
})

test.run()
