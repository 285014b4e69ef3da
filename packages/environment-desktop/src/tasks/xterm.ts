/** Tasks in a terminal: one command of a shell each, from a few that may be typed. */
import type { Rng } from 'rlanything/environments'
import type { SetupStep } from '../osworld/task-file.ts'
import { DESKTOP, file, printed, started, type TaskKind } from './task.ts'
import { lines, words } from './words.ts'

type Shell = {
  readonly goal: string
  readonly files: readonly SetupStep[]
  /** Command whose output is judged at the end, and the expected output. */
  readonly prints: string
  readonly expected: string
  readonly right: string
  readonly wrong: string
}

const kind = (name: string, make: (random: Rng) => Shell): TaskKind => ({
  kind: `xterm-${name}`,
  programs: ['xterm'],
  make(random) {
    const { goal, files, prints, expected, right, wrong } = make(random)
    return {
      goal: `In the terminal, ${goal}.`,
      config: [...files, ...started('xterm', 'xterm -title Terminal')],
      check: { metric: 'exact_match', result: printed(prints), rules: { expected } },
      texts: [right, wrong],
      oracle: [`type ${right}`, 'press enter', 'wait', 'done'],
      wrong: [`type ${wrong}`, 'press enter', 'wait', 'done'],
    }
  },
})

export const XTERM: readonly TaskKind[] = [
  kind('count', (random) => {
    const counts = [1 + random.below(9), 1 + random.below(9)]
    return {
      goal: 'write how many lines all .py files have together into total.txt',
      files: counts.map((count, i) => file(`part${i}.py`, 'pass\n'.repeat(count))),
      prints: 'cat total.txt',
      expected: `${counts.reduce((total, one) => total + one, 0)}\n`,
      right: 'cat *.py | wc -l > total.txt',
      wrong: 'cat *.py | wc -c > total.txt',
    }
  }),
  kind('permissions', (random) => {
    const names = words(random, 3).map((word) => `${word}.txt`)
    return {
      goal: 'let everybody read all .txt files and their owner alone change them',
      files: [
        ...names.map((name) => file(name, 'x\n')),
        { type: 'execute', parameters: { command: `chmod 600 ${DESKTOP}/*.txt`, shell: true } },
      ],
      prints: 'stat -c %a *.txt',
      expected: '644\n'.repeat(3),
      right: 'chmod 644 *.txt',
      wrong: 'chmod 666 *.txt',
    }
  }),
  kind('archive', (random) => {
    const names = words(random, 2).map((word) => `${word}.log`)
    return {
      goal: 'pack all .log files into logs.tar.gz',
      files: [...names.map((name) => file(name, 'x\n')), file('other.txt', 'x\n')],
      prints: 'tar tzf logs.tar.gz | sort',
      expected: `${[...names].sort().join('\n')}\n`,
      right: 'tar czf logs.tar.gz *.log',
      wrong: 'tar czf logs.tar.gz *.txt',
    }
  }),
  kind('ends', (random) => {
    const before = lines(random, 3)
    return {
      goal: 'end every line of page.txt with <br>',
      files: [file('page.txt', `${before.join('\n')}\n`)],
      prints: 'cat page.txt',
      expected: before.map((line) => `${line}<br>\n`).join(''),
      right: "sed -i 's/$/<br>/' page.txt",
      wrong: "sed -i 's/^/<br>/' page.txt",
    }
  }),
  kind('largest', (random) => {
    const names = words(random, 3)
    const largest = random.below(3)
    return {
      goal: 'write the name of the largest .dat file into largest.txt',
      files: names.map((name, i) => file(`${name}.dat`, 'x'.repeat(i === largest ? 500 : 20 + i))),
      prints: 'cat largest.txt',
      expected: `${names[largest]}.dat\n`,
      right: 'ls -S *.dat | head -n 1 > largest.txt',
      wrong: 'ls -S *.dat | tail -n 1 > largest.txt',
    }
  }),
  kind('link', (random) => {
    const [name, link] = words(random, 2)
    return {
      goal: `make a symbolic link ${link} to ${name}.txt`,
      files: [file(`${name}.txt`, `${name}\n`)],
      prints: `readlink ${link}`,
      expected: `${name}.txt\n`,
      right: `ln -s ${name}.txt ${link}`,
      wrong: `cp ${name}.txt ${link}`,
    }
  }),
]
