/** Tasks in the editor Mousepad: a file of a few lines, changed and saved. */

import type { Rng } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import { DESKTOP, type Draft, file, open, printed, type TaskKind } from './task.ts'
import { lines, words } from './words.ts'

const programs = ['mousepad']
const NAME = 'note.txt'
const SAVED = ['press ctrl+s', 'done']

/** Compares the file at the end byte by byte, without blanks at its end. */
const holds = (text: string) => ({
  metric: 'exact_match',
  result: printed(`printf '%s' "$(cat ${NAME})"`),
  rules: { expected: text },
})

const kind = (
  name: string,
  make: (random: Rng, before: readonly string[]) => Omit<Draft, 'config'>,
): TaskKind => ({
  kind: `mousepad-${name}`,
  programs,
  make(random) {
    const before = lines(random, 3)
    return { config: [file(NAME, `${before.join('\n')}\n`), open(NAME)], ...make(random, before) }
  },
})

export const MOUSEPAD: readonly TaskKind[] = [
  kind('append', (random, before) => {
    const [line, other] = lines(random, 2)
    return {
      goal: `Append the line '${line}' at the end of ${NAME} and save it.`,
      check: holds([...before, line].join('\n')),
      texts: [other],
      oracle: ['press ctrl+end', `type ${line}`, ...SAVED],
      wrong: ['press ctrl+end', `type ${other}`, ...SAVED],
    }
  }),
  kind('prepend', (random, before) => {
    const [line] = lines(random, 1)
    return {
      goal: `Put the line '${line}' before all others of ${NAME} and save it.`,
      check: holds([line, ...before].join('\n')),
      oracle: ['press ctrl+home', `type ${line}`, 'press enter', ...SAVED],
      wrong: ['press ctrl+end', `type ${line}`, 'press enter', ...SAVED],
    }
  }),
  kind('empty', () => ({
    goal: `Delete everything in ${NAME} and save it.`,
    check: holds(''),
    oracle: ['press ctrl+a', 'press delete', ...SAVED],
    wrong: ['press delete', ...SAVED],
  })),
  kind('overwrite', (random) => {
    const [line] = lines(random, 1)
    return {
      goal: `Make ${NAME} hold nothing but '${line}' and save it.`,
      check: holds(line),
      oracle: ['press ctrl+a', `type ${line}`, ...SAVED],
      wrong: [`type ${line}`, ...SAVED],
    }
  }),
  kind('double', (_, before) => ({
    goal: `Copy all of ${NAME} to its end, so that it stands there twice, and save it.`,
    check: holds([...before, ...before].join('\n')),
    oracle: ['press ctrl+a', 'press ctrl+c', 'press ctrl+end', 'press ctrl+v', ...SAVED],
    wrong: ['press ctrl+a', 'press ctrl+c', 'press ctrl+v', ...SAVED],
  })),
  kind('first-line', (_, before) => ({
    goal: `Delete the first line of ${NAME} and save it.`,
    check: holds(before.slice(1).join('\n')),
    oracle: ['press ctrl+home', 'press shift+end', 'press delete', 'press delete', ...SAVED],
    wrong: ['press ctrl+home', 'press delete', ...SAVED],
  })),
  {
    kind: 'mousepad-setting',
    programs,
    make(random) {
      const ports = random.shuffle(['8080', '9090', '7000', '6543'])
      const [port, other] = [itemAt(ports, 0), itemAt(ports, 1)]
      const before = `[server]\nname=${words(random, 1)}\nport=1234`
      return {
        goal: `Set the port in server.ini to ${port} and save it.`,
        config: [file('server.ini', before), open('server.ini')],
        check: {
          metric: 'exact_match',
          result: printed('printf "%s" "$(cat server.ini)"'),
          rules: { expected: before.replace('1234', port) },
        },
        texts: [`port=${port}`, `port=${other}`],
        oracle: ['press ctrl+end', 'press shift+home', `type port=${port}`, ...SAVED],
        wrong: ['press ctrl+end', 'press shift+home', `type port=${other}`, ...SAVED],
      }
    },
  },
  kind('save-as', (random, before) => {
    const [name] = words(random, 1)
    return {
      goal: `Save what is in ${NAME} as ${name}.txt on the desktop as well.`,
      check: {
        metric: 'exact_match',
        result: printed(`printf '%s' "$(cat ${name}.txt)"`),
        rules: { expected: before.join('\n') },
      },
      texts: [`${DESKTOP}/${name}.txt`, `${DESKTOP}/${name}`],
      oracle: ['press ctrl+shift+s', 'press ctrl+a', `type ${DESKTOP}/${name}.txt`, 'press enter', 'done'],
      wrong: ['press ctrl+shift+s', 'press ctrl+a', `type ${DESKTOP}/${name}`, 'press enter', 'done'],
    }
  }),
  kind('printer', () => ({
    goal: `Print ${NAME} in colour on the printer of the third floor.`,
    check: { metric: 'infeasible' },
    oracle: ['fail'],
    wrong: ['done'],
  })),
]
