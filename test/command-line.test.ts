import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { forTerminal, inLine, shellWord, shellWords } from '../src/command-line.ts'

test('what steers a terminal is shown by its code; lines, tabs and other writing stay', () => {
  assert.is(forTerminal('a\x1b[2J\r\n\tb\x7f\u009b1m'), 'a\\u001b[2J\\u000d\n\tb\\u007f\\u009b1m')
  assert.is(forTerminal('\u202egnp.exe'), '\\u202egnp.exe')
  assert.is(forTerminal('one\u2028line\u2029'), 'one\\u2028line\\u2029')
  assert.is(forTerminal('naïve 数学 🙂'), 'naïve 数学 🙂')
  assert.is(inLine('one\ntwo'), 'one\\ntwo')
  const value = { text: 'x\u009b\u202e\x1b' }
  assert.equal(JSON.parse(forTerminal(JSON.stringify(value))), value)
})

test('words that were quoted for a shell are read back', () => {
  const words = ['rl', '--set', "a='b c'", '', "it's", '--out=d', 'e\\f', '$HOME', 'two\nlines']
  assert.equal(shellWords(words.map(shellWord).join(' ')), words)
})

test.run()
