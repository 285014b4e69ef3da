/** Pages of the common form that are in no list of ours: each kind of control is the same twice, listed, and can be done. */

import { readdirSync } from 'node:fs'
import type { Episode, Task } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkPage } from '../src/check-page.ts'
import { type WebEnvironment, webEnvironment } from '../src/environment.ts'
import { folderSite, type Loading } from '../src/miniwob/site.ts'
import { hasBrowser } from './browser.ts'

const FOLDER = 'test/fixtures/pages'
const SEEDS = 3

const siteOf = (loading: Loading = 'table') =>
  folderSite({ folder: FOLDER, seed: 1, counts: { train: 1, 'in-domain': 1, ood: 1 }, loading })

const open = (loading?: Loading): WebEnvironment =>
  webEnvironment({ site: siteOf(loading), browser: null, pages: 1 })

/** What is done next for a goal: the first listed action that fits one of these, in turn; `until` repeats one until it is not listed. */
type Way = (goal: string) => readonly (RegExp | { readonly again: RegExp; readonly until: RegExp })[]

const word = (goal: string, pattern: RegExp) => pattern.exec(goal)?.[1] ?? ''
const typed = (goal: string) => new RegExp(`^type .* ${word(goal, /"(\w+)"/)}$`)
const ENTER = /^press .* Enter$/
const SUBMIT = /^click \d+ "(Submit|Send|Go)"/

const WAYS: Readonly<Record<string, Way>> = {
  'svg-shape': (goal) => [new RegExp(`^click \\d+ ".*${word(goal, /the (\w+)\./)}`)],
  'native-date': (goal) => [new RegExp(`^type .*${word(goal, /Choose (\S+)/)}$`), SUBMIT],
  'date-picker': (goal) => {
    const [month, day] = [word(goal, /Pick (\w+)/), word(goal, /(\d+) and/)]
    const turn = month === 'May' ? [/^click \d+ "Prev"/] : month === 'July' ? [/^click \d+ "Next"/] : []
    return [/^click \d+ "date"/, ...turn, new RegExp(`^click \\d+ "${day}"`), SUBMIT]
  },
  frame: (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  'drag-native': (goal) => [new RegExp(`^drag \\d+ "card" \\d+ "${word(goal, /to (\w+)/)}"`)],
  'drag-mouse': (goal) => [new RegExp(`^drag \\d+ "box" ${word(goal, /the (left|right)/)}`)],
  shortcut: (goal) => [new RegExp(`^press \\d+ "text" ctrl\\+${word(goal, /ctrl\+(\w)/)}`)],
  autocomplete: (goal) => {
    const [first, last] = [word(goal, /with "(\w+)" and/), word(goal, /ends with "(\w+)"/)]
    return [
      new RegExp(`^type .* ${first}$`),
      { again: /^wait$/, until: /^click \d+ "(Anders|Anna|Bernd|Bianca|Carla)"/ },
      new RegExp(`^click \\d+ "${first}\\w*${last}"`),
      SUBMIT,
    ]
  },
  timer: () => [{ again: /^wait$/, until: /"Now"/ }, /^click \d+ "Now"/],
  animated: () => [/^click \d+ "dot"/],
  editable: (goal) => [new RegExp(`^type .* ${word(goal, /"(\w+)"/)}$`), SUBMIT],
  spinner: (goal) => [
    ...Array.from({ length: Number(word(goal, /(\d)/)) }, () => /^click \d+ "ui-spinner-up"/),
    SUBMIT,
  ],
  fields: (goal) => [new RegExp(`^type .* ${word(goal, /to (\w+)\./)}$`), SUBMIT],
  'list-native': (goal) => [new RegExp(`^select .* ${word(goal, /Select (\w+)/)}$`), SUBMIT],
  'late-ready': () => [/^click \d+ "Ready"/],
  shadow: (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  'long-list': (goal) => [/^scroll \d+ .*down$/, new RegExp(`^click \\d+ "${word(goal, /to (row \d+)/)}"`)],
  delegated: (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  'global-keys': (goal) => [new RegExp(`^press \\d+ "page" ${word(goal, /Press (\w+)/)}`)],
  stored: () => [/^click \d+ "first"/],
  counted: (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  echo: (goal) => [typed(goal), ENTER],
  'shadow-field': (goal) => [typed(goal), ENTER],
  'frame-field': (goal) => [typed(goal), ENTER],
  'editable-empty': (goal) =>
    ['box 0', 'box 1']
      .map((name) => new RegExp(`^type \\d+ "${name}" ${word(goal, /"(\w+)"/)}$`))
      .concat(SUBMIT),
  'window-keys': (goal) => [new RegExp(`^press \\d+ "page" ${word(goal, /Press (\w+)/)}`)],
  tiles: (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  'drag-pointer': (goal) => [new RegExp(`^drag \\d+ "box" ${word(goal, /the (left|right)/)}`)],
  'double-click': (goal) => {
    const click = new RegExp(`^click \\d+ "${word(goal, /click (\w+)/)}"`)
    return [click, click]
  },
  'at-load': () => [{ again: /^wait$/, until: /"Now"/ }, /^click \d+ "Now"/],
  chained: (goal) => [
    new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`),
    new RegExp(`^click \\d+ "after ${word(goal, /Click (\w+)/)}"`),
  ],
  growing: () => [/^click \d+ "More"/, SUBMIT],
  'closed-shadow': (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  external: () => [/^click \d+ "first"/],
  'kept-fields': () => [
    /^type \d+ "short" abcd1x2$/,
    /^type \d+ "digits" abcd1x2$/,
    /^select \d+ "list" here$/,
    SUBMIT,
  ],
  'key-codes': () => [/^type \d+ "field" (a\(b\) & 50%|it's 1\.5-2!|Q#\$ "x")$/, SUBMIT],
  'long-page': (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  'multi-native': (goal) => [
    ...word(goal, /Select (.*) and/)
      .split(', ')
      .map((name) => new RegExp(`^select \\d+ "trees" ${name}$`)),
    SUBMIT,
  ],
  'nested-frame': () => [{ again: /^wait$/, until: /"Now"/ }, /^click \d+ "Now"/],
  'own-clock': () => [/^click \d+ "at 0"/],
  'own-names': (goal) => [typed(goal), SUBMIT],
  routed: () => ['open', 'back', 'Done'].map((name) => new RegExp(`^click \\d+ "${name}"`)),
  smooth: () => [{ again: /^scroll .* down$/, until: /"Agree"/ }, /^click \d+ "Agree"/],
  'window-clicks': (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  'read-table-2': (goal) => [new RegExp(`^click \\d+ "${word(goal, /Press (\w+)/)}"`)],
  'unnamed-charset': (goal) => [new RegExp(`^click \\d+ "${word(goal, /Click (.*)/)}"`)],
  drawn: (goal) => [new RegExp(`^click \\d+ "color ${word(goal, /the (\w+) box/)}"`)],
  sorted: (goal) => {
    const [from, to] = [word(goal, /Drag (\w+)/), word(goal, /of (\w+)/)]
    return [new RegExp(`^drag \\d+ "${from}" \\d+ "${to}"`)]
  },
  worked: () => [/^click \d+ "Work"/, /^click \d+ "done true"/],
  sums: (goal) => {
    const answer = word(goal, /gives (\w+)/).replace(
      /./g,
      (letter) => '0123456789-'['abcdefghijk'.indexOf(letter)],
    )
    return [new RegExp(`^type .* ${answer}$`), SUBMIT]
  },
  spelled: (goal) => {
    const word = [...(/backwards (\w+)/.exec(goal)?.[1] ?? '')].reverse().join('')
    return [new RegExp(`^type .* ${word}$`), SUBMIT]
  },
  veiled: (goal) => [/^click \d+ "Close"/, new RegExp(`^click \\d+ "${word(goal, /Click (\w+)/)}"`)],
  'many-fields': (goal) => [new RegExp(`^type \\d+ "field 0" ${word(goal, /"(\w+)"/)}$`), SUBMIT],
}

/** Is done by a place on the screen alone. */
const BY_PLACE = ['canvas-square']

async function goAlong(environment: WebEnvironment, task: Task): Promise<string | null> {
  const { goal } = task
  let episode = await environment.reset(task, { seed: [1, 1], maxSteps: 30 })
  for (const step of WAYS[task.kind](goal)) {
    if ('again' in step)
      while (
        !episode.turn.done &&
        ![...episode.turn.admissible, episode.turn.observation].some((text) => step.until.test(text))
      )
        episode = await episode.step(episode.turn.admissible.find((one) => step.again.test(one)) ?? 'none')
    else {
      const action = episode.turn.admissible.find((one) => step.test(one))
      if (action === undefined) return `${goal} ${step} is not among\n${episode.turn.admissible.join('\n')}`
      episode = await episode.step(action)
    }
  }
  if (!episode.turn.done) return `${goal} not over: ${episode.turn.observation}`
  return episode.outcome() === 1 ? null : `${goal} ended with ${episode.turn.ended}`
}

test('every page has a way', () => {
  const pages = readdirSync(`${FOLDER}/miniwob`).map((name) => name.replace('.html', ''))
  assert.equal([...Object.keys(WAYS), ...BY_PLACE].sort(), pages.sort())
})

if (hasBrowser()) {
  test('each page is the same twice whatever is done on it, and its goal is reached by listed actions', async () => {
    const [one, other] = [open(), open()]
    const problems: string[] = []
    try {
      const samples = await one.samples(SEEDS)
      const goals = new Map<string, string>()
      for (const [page, tasks] of samples) {
        const { differences, problem } = await checkPage(page, tasks, [one, other])
        if (differences > 0) problems.push(`${page}: ${problem}`)
        if (BY_PLACE.includes(page)) continue
        for (const task of tasks) {
          const goal = await goalOf(one, task)
          goals.set(task.id, goal)
          const missed = await goAlong(one, { ...task, goal }).catch(String)
          if (missed !== null) problems.push(`${page}: ${missed}`)
        }
      }
      assert.equal(problems, [])
      assert.ok(new Set(goals.values()).size > samples.size, 'seeds make different tasks')
    } finally {
      await one.close()
      await other.close()
    }
  })

  test('what stands beside the task and tells of earlier episodes is no text to type', async () => {
    const environment = open('again')
    const at = (seed: number): Task => ({
      ...{ id: `echo-${seed}`, environment: 'web', kind: 'echo', goal: '' },
      recipe: { page: 'echo', seed },
    })
    const listed = async (seed: number) =>
      (await environment.reset(at(seed), { seed: [1, 1], maxSteps: 3 })).turn.admissible
    try {
      const first = await listed(1)
      assert.ok(first.some((action) => action.startsWith('type ')))
      await listed(2)
      assert.equal(await listed(1), first)
    } finally {
      await environment.close()
    }
  })

  test('what is done again on another page has the same numbers', async () => {
    const environment = open()
    const task: Task = {
      ...{ id: 'growing', environment: 'web', kind: 'growing', goal: '' },
      recipe: { page: 'growing', seed: 1 },
    }
    const reset = () => environment.reset(task, { seed: [1, 1], maxSteps: 3 })
    const more = ({ turn }: Episode) => turn.admissible.find((one) => /"More"/.test(one)) ?? ''
    try {
      const first = await reset()
      const goneOn = await first.step(more(first))
      const again = await first.step(more(first))
      assert.match(goneOn.turn.observation, /"Submit"/)
      assert.equal(again.turn, goneOn.turn)
    } finally {
      await environment.close()
    }
  })

  test('messages, answers, pictures, transitions and what is seen have come after an action, gone on or done again', async () => {
    const environment = open()
    const recipe = { page: 'chained', seed: 1 }
    const task: Task = { id: 'chained', environment: 'web', kind: 'chained', goal: '', recipe }
    const press = (episode: Episode, name: string) =>
      episode.step(episode.turn.admissible.find((one) => one.endsWith(`"${name}"`)) ?? 'none')
    try {
      const first = await environment.reset(task, { seed: [1, 1], maxSteps: 20 })
      const ways = first.turn.admissible.flatMap((one) => /^click \d+ "(\w+)"/.exec(one)?.[1] ?? [])
      assert.is(ways.length, 8)
      for (const way of ways) {
        const goneOn = await press(first, way)
        assert.match(goneOn.turn.observation, `"after ${way}"`)
      }
      let all: Episode = first
      for (const way of ways) all = await press(all, way)
      const ended = await press(all, `after ${ways[0]}`)
      await press(first, ways[0])
      const again = await press(all, `after ${ways[0]}`)
      assert.equal(again.turn, ended.turn)
    } finally {
      await environment.close()
    }
  })

  test('fields that people cannot change are not changed by commands either, and nothing else is lost', async () => {
    const environment = open()
    const recipe = { page: 'kept-fields', seed: 1 }
    const task: Task = { id: 'kept', environment: 'web', kind: 'kept-fields', goal: '', recipe }
    try {
      const start = await environment.reset(task, { seed: [1, 1], maxSteps: 20 })
      const told = (name: string) =>
        new RegExp(`^\\[(\\d+)\\] \\S+ "${name}"`, 'm').exec(start.turn.observation)
      const ref = Number(told('read only')?.[1])
      assert.is(told('grouped'), null)
      assert.is(told('inert'), null)
      for (const action of [`type ${ref} 2024`, `press ${ref} Backspace`, `press ${ref} ctrl+v`]) {
        const next = await start.step(action)
        assert.match(next.turn.observation, /"read only" = a/, action)
      }
      assert.match(
        (await start.step(`type ${ref} 2024`)).turn.observation,
        /^! element \d+ can only be read\n/,
      )
      const list = Number(told('list')?.[1])
      assert.not(start.turn.admissible.some((one) => one.endsWith('gone')))
      assert.match(
        (await start.step(`select ${list} gone`)).turn.observation,
        /^! element \d+ has no option 'gone'/,
      )
    } finally {
      await environment.close()
    }
  })

  test('of several options that are chosen each is told', async () => {
    const environment = open()
    const recipe = { page: 'multi-native', seed: 1 }
    const task: Task = { id: 'multi', environment: 'web', kind: 'multi-native', goal: '', recipe }
    try {
      let episode = await environment.reset(task, { seed: [1, 1], maxSteps: 20 })
      for (const name of ['elm', 'oak'])
        episode = await episode.step(episode.turn.admissible.find((one) => one.endsWith(` ${name}`)) ?? '')
      assert.match(episode.turn.observation, /"trees" = elm, oak/)
    } finally {
      await environment.close()
    }
  })

  test('what is drawn and what was chosen is told', async () => {
    const environment = open()
    const recipe = { page: 'drawn', seed: 1 }
    const task: Task = { id: 'drawn', environment: 'web', kind: 'drawn', goal: '', recipe }
    try {
      const start = await environment.reset(task, { seed: [1, 1], maxSteps: 20 })
      const lines = start.turn.observation.split('\n')
      for (const line of ['red circle 5 20 20', 'blue polygon 20 60 15', 'aqua Q 20 90 30', 'vegan'])
        assert.ok(lines.includes(line), `${line} is not among\n${lines.join('\n')}`)
      assert.match(start.turn.observation, /item "card"\n/)
      const liked = await start.step(start.turn.admissible.find((one) => /"like"/.test(one)) ?? '')
      assert.match(liked.turn.observation, /button "like" \(selected/)
    } finally {
      await environment.close()
    }
  })

  test('what lies under a veil is not listed, and out of reach', async () => {
    const environment = open()
    const recipe = { page: 'veiled', seed: 1 }
    const task: Task = { id: 'veiled', environment: 'web', kind: 'veiled', goal: '', recipe }
    try {
      const start = await environment.reset(task, { seed: [1, 1], maxSteps: 20 })
      assert.equal(start.turn.admissible, ['click 1 "Close"', 'wait'])
      const lifted = await start.step('click 1')
      const ref = Number(/\[(\d+)\] button "north"/.exec(lifted.turn.observation)?.[1])
      assert.ok(ref > 1)
      assert.match((await start.step(`click ${ref}`)).turn.observation, /^! there is no element/)
    } finally {
      await environment.close()
    }
  })

  test('a key writes what it writes for people, where there is room', async () => {
    const environment = open()
    const recipe = { page: 'kept-fields', seed: 1 }
    const task: Task = { id: 'kept', environment: 'web', kind: 'kept-fields', goal: '', recipe }
    try {
      let episode: Episode = await environment.reset(task, { seed: [1, 1], maxSteps: 20 })
      const ref = (name: string) =>
        Number(new RegExp(`\\[(\\d+)\\] \\S+ "${name}"`).exec(episode.turn.observation)?.[1])
      const value = (name: string) =>
        new RegExp(`\\[\\d+\\] \\S+ "${name}"(?: = (\\S*))?`).exec(episode.turn.observation)?.[1]
      for (const key of ['a', 'shift+b', 'shift+1', 'c'])
        episode = await episode.step(`press ${ref('short')} ${key}`)
      assert.is(value('short'), 'aB!')
      assert.is(value('full'), 'abcde')
      for (const key of ['x', 'Backspace', 'x']) episode = await episode.step(`press ${ref('full')} ${key}`)
      assert.is(value('full'), 'abcd')
      episode = await episode.step(`press ${ref('digits')} x`)
      assert.is(value('digits'), undefined)
    } finally {
      await environment.close()
    }
  })

  test('a loop that a page began when it was loaded goes on at every start', async () => {
    const environment = open('again')
    const recipe = { page: 'at-load', seed: 1 }
    const task: Task = { id: 'at-load', environment: 'web', kind: 'at-load', goal: '', recipe }
    try {
      const seen: string[][] = []
      for (let start = 0; start < 3; start++) {
        const first = await environment.reset(task, { seed: [1, 1], maxSteps: 3 })
        const next = await first.step('wait')
        seen.push([first.turn.observation, next.turn.observation])
      }
      assert.match(seen[0].join(), /"Wait",.*"Now"/)
      assert.equal(seen, [seen[0], seen[0], seen[0]])
    } finally {
      await environment.close()
    }
  })

  test('numbers that a rewritten task has changed are as before for the next one on the page', async () => {
    const environment = open('again')
    const { path } = siteOf().start({ page: 'counted', seed: 1 })
    const commands = async (variables?: object): Promise<number> => {
      const recipe = { page: 'counted', seed: 1, ...(variables ? { variables } : {}) }
      const task: Task = { id: 'counted', environment: 'web', kind: 'counted', goal: '', recipe }
      const { turn } = await environment.reset(task, { seed: [1, 1], maxSteps: 3 })
      return turn.admissible.filter((one) => one.startsWith('click')).length
    }
    try {
      assert.is(await commands(), 2)
      assert.is(await commands({ COUNT_BUTTONS: 5 }), 5)
      const variables = await environment.pool.run({ path, holder: null }, ({ page }) =>
        page.call('variables', null, 60_000),
      )
      assert.equal(variables, [['COUNT_BUTTONS', 2]])
      assert.is(await commands(), 2)
    } finally {
      await environment.close()
    }
  })
}

/** Samples bear none: the page tells it. */
async function goalOf(environment: WebEnvironment, { recipe }: Task): Promise<string> {
  const { path, request } = siteOf().start(recipe)
  const told = await environment.pool.run({ path, holder: null }, async (slot) => {
    slot.path = null
    await slot.page.load(path, 60_000)
    return slot.page.call('goals', [request], 60_000)
  })
  return (told as string[])[0]
}

test.run()
