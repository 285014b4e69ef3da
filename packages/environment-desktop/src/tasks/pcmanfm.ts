/** Tasks in the file manager PCManFM, over some files and a folder. */
import type { Rng } from 'rlanything/environments'
import { DESKTOP, type Draft, file, printed, started, type TaskKind } from './task.ts'
import { words } from './words.ts'

type Names = { readonly one: string; readonly other: string; readonly folder: string; readonly fresh: string }

const icon = (name: string) => `click ${JSON.stringify(name)}`
const enter = (name: string) => `double-click ${JSON.stringify(name)}`

/** Compares all files and folders, one a line. */
const holds = (paths: readonly string[]) => ({
  metric: 'exact_match',
  result: printed('find . -mindepth 1 -not -path "*/.*" | LC_ALL=C sort'),
  rules: {
    expected: `${[...paths]
      .map((path) => `./${path}`)
      .sort()
      .join('\n')}\n`,
  },
})

const kind = (
  name: string,
  make: (
    names: Names,
  ) => Pick<Draft, 'goal' | 'oracle' | 'texts' | 'wrong'> & { readonly end: readonly string[] },
): TaskKind => ({
  kind: `pcmanfm-${name}`,
  programs: ['pcmanfm'],
  make(random: Rng) {
    const [first, second, folder, fresh] = words(random, 4)
    const names: Names = { one: `${first}.txt`, other: `${second}.txt`, folder, fresh }
    const { end, ...draft } = make(names)
    return {
      config: [
        file(names.one, `${first}\n`),
        file(names.other, `${second}\n`),
        { type: 'execute', parameters: { command: ['mkdir', `${DESKTOP}/${folder}`] } },
        ...started('pcmanfm', `pcmanfm ${DESKTOP}`),
      ],
      check: holds(end),
      ...draft,
    }
  },
})

export const PCMANFM: readonly TaskKind[] = [
  kind('rename', ({ one, other, folder, fresh }) => ({
    goal: `In the file manager, rename ${one} to '${fresh}.txt'.`,
    end: [other, folder, `${fresh}.txt`],
    oracle: [icon(one), 'press f2', 'press ctrl+a', `type ${fresh}.txt`, 'press enter', 'done'],
    wrong: [icon(other), 'press f2', 'press ctrl+a', `type ${fresh}.txt`, 'press enter', 'done'],
  })),
  kind('copy', ({ one, other, folder }) => ({
    goal: `In the file manager, copy ${one} into the folder ${folder}.`,
    end: [one, other, folder, `${folder}/${one}`],
    oracle: [icon(one), 'press ctrl+c', enter(folder), 'press ctrl+v', 'wait', 'done'],
    wrong: [icon(other), 'press ctrl+c', enter(folder), 'press ctrl+v', 'wait', 'done'],
  })),
  kind('move', ({ one, other, folder }) => ({
    goal: `In the file manager, move ${one} into the folder ${folder}.`,
    end: [other, folder, `${folder}/${one}`],
    oracle: [icon(one), 'press ctrl+x', enter(folder), 'press ctrl+v', 'wait', 'done'],
    wrong: [icon(one), 'press ctrl+c', enter(folder), 'press ctrl+v', 'wait', 'done'],
  })),
  kind('delete', ({ one, other, folder }) => ({
    goal: `In the file manager, delete ${one} for good.`,
    end: [other, folder],
    oracle: [icon(one), 'press shift+delete', 'press enter', 'wait', 'done'],
    wrong: [icon(other), 'press shift+delete', 'press enter', 'wait', 'done'],
  })),
  kind('new-folder', ({ one, other, folder, fresh }) => ({
    goal: `In the file manager, make a new folder called '${fresh}' beside ${folder}.`,
    end: [one, other, folder, fresh],
    oracle: ['press ctrl+shift+n', 'press ctrl+a', `type ${fresh}`, 'press enter', 'wait', 'done'],
    wrong: ['press ctrl+shift+n', 'press enter', 'wait', 'done'],
  })),
]
