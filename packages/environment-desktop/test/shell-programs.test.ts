/** Programs that a text for a shell starts, and tasks that need what a local desktop has not. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { unsupportedIn } from '../src/osworld/evaluate.ts'
import { programsIn } from '../src/osworld/shell-programs.ts'
import { readTaskFile } from '../src/osworld/task-file.ts'

const TEXTS: readonly (readonly [text: string, programs: readonly string[]])[] = [
  ['ls /tmp | wc -l', ['ls', 'wc']],
  ['LANG=C A= pactl list && echo "a; b | c"', ['pactl']],
  ['if [ -f x ]; then cat x; else rm -f y; fi', ['cat', 'rm']],
  ['for f in *.txt; do mv "$f" old; done', ['mv']],
  ['x=$(gsettings get org.gnome a | tr -d "\'"); echo $x', ['gsettings', 'tr']],
  ['echo "now: $(date +%s) `uname -r`"', ['date', 'uname']],
  ['sudo -n systemctl restart foo', ['sudo', 'systemctl']],
  [
    'timeout 5 nohup bash -c "sleep 1; amixer sget Master" &',
    ['timeout', 'nohup', 'bash', 'sleep', 'amixer'],
  ],
  ['bash -lc \'cd /tmp && python3 -c "print(1)" > out 2>&1\'', ['bash', 'python3']],
  ['cat <in.txt >out.txt; # comment | rm', ['cat']],
  ['/usr/bin/env python3 a.py', ['/usr/bin/env', 'python3']],
  ['/usr/bin/time -v sort a', ['/usr/bin/time', 'sort']],
  ['f() { true; }; f', ['f']],
  ['find . -name "*.jpg" | xargs -n 1 convert', ['find', 'xargs', 'convert']],
  ['', []],
]

for (const [text, programs] of TEXTS)
  test(`programs of: ${text}`, () => {
    assert.equal(programsIn(text), programs)
  })

function unsupported(
  command: unknown,
  more: object = {},
  program: ((name: string) => boolean) | null = () => true,
) {
  const result = { type: 'vm_command_line', command, ...more }
  const evaluator = { func: 'exact_match', result, expected: { type: 'rule', rules: { expected: '1' } } }
  return unsupportedIn(readTaskFile({ id: 'a', instruction: 'b', evaluator }, 'a'), null, program)
}

test('a task whose programs need services is left out by their names, unless it has a whole machine', () => {
  assert.equal(unsupported('dconf read /a/b | wc -l', { shell: true }), ['service of dconf'])
  assert.equal(unsupported(['/usr/bin/gsettings', 'get', 'a', 'b']), ['service of gsettings'])
  assert.equal(unsupported(['bash', '-c', 'echo 1 | sudo tee /etc/x']), ['service of sudo'])
  assert.equal(unsupported('dconf read /a/b', { shell: true }, null), [])
})

test('a program of a pipe that is not here is named', () => {
  assert.equal(
    unsupported('cat a | jq .b', { shell: true }, (name) => name === 'cat'),
    ['program jq'],
  )
})

test.run()
