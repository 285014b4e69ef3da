import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  advance,
  initialState,
  NOTHING_HAPPENS,
  type State,
  step,
} from '../../../src/environments/alfworld/engine.ts'
import { gameOf, loadGame } from '../../../src/environments/alfworld/game.ts'
import { commandsOf, factsOf, initialWorld } from '../../../src/environments/alfworld/world.ts'
import { rng } from '../../../src/random.ts'
import { fixtureFile, fixtureText, fixtureTexts } from './games.ts'

const games = [...fixtureTexts()].map(([path, text]) => loadGame(text, path))
const run = (words: string, ...commands: string[]) =>
  commands.reduce(advance, initialState(loadGame(fixtureText(words))))
const observed = (words: string, ...commands: string[]) => run(words, ...commands).observation
/** Everything that decides how a state goes on, as data. */
const content = ({ world, ...rest }: State) => JSON.stringify([world.facts, rest])

test('every walkthrough wins on its last step and not before', () => {
  for (const game of games) {
    let state = initialState(game)
    for (const command of game.walkthrough ?? []) {
      assert.is(state.won, false)
      state = step(state, command)
      assert.is.not(state.observation, NOTHING_HAPPENS)
    }
    assert.is(state.won, game.walkthrough !== null)
  }
})

test('quirk: an object can be examined only while it is held', () => {
  const there = run('pick_two_obj', ...walkTo('pick_two_obj', 'take'))
  const [take, object] = /^take (.*) from .*$/.exec(nextCommand('pick_two_obj', 'take')) ?? []
  assert.ok(there.admissible.includes(`${take}`))
  assert.not.ok(there.admissible.includes(`examine ${object}`))
  const held = advance(there, `${take}`)
  assert.is(advance(held, `examine ${object}`).observation, `There's nothing special about ${object}.`)
})

test('quirk: a command is stripped as Python strips texts', () => {
  const stripped = ['\t', '\v', '\x1c', '\x1d', '\x1e', '\x1f', '\x85', '\xa0', '\u2028', '\u3000']
  for (const space of stripped) assert.is.not(observed('Laptop', `${space}look${space} `), NOTHING_HAPPENS)
  assert.is(observed('Laptop', '\ufefflook'), NOTHING_HAPPENS)
  assert.is(observed('Laptop', 'look\ufeff'), NOTHING_HAPPENS)
  assert.is(observed('Laptop', '\u200blook'), NOTHING_HAPPENS)
})

test('quirk: from the middle of the room a look sees nothing', () => {
  const middle = 'You are in the middle of a room. Looking quickly around you, you see nothing.'
  assert.is(observed('Laptop', 'look'), middle)
})

test('quirk: where the agent stands already it cannot go, and no other place at that location either', () => {
  for (const game of games) {
    const there = initialState(game).admissible.filter((command) => command.startsWith('go to '))
    for (const command of there) {
      const state = step(initialState(game), command)
      const [, here] = factsOf(state.world, 'atlocation')[0]
      const near = factsOf(state.world, 'receptacleatlocation').filter(([, location]) => location === here)
      const reachable = state.admissible.filter((other) => other.startsWith('go to ')).length
      assert.is(reachable, there.length - near.length)
    }
  }
})

test('quirk: a lamp is always turned on, also the second time, and never described as off', () => {
  const lamp = run('Laptop', 'go to dresser 1', 'go to desk 1')
  const use = lamp.admissible.find((command) => command.startsWith('use desklamp')) ?? 'use desklamp 1'
  const once = advance(lamp, use)
  assert.is(once.observation, 'You turn on the desklamp 1.')
  assert.is(advance(once, use).observation, 'You turn on the desklamp 1.')
})

test('the older texts come from the older game file', () => {
  const path = 'games-2.1.1-text'
  const state = run(path, 'go to countertop 1')
  assert.match(state.observation, /^You arrive at loc \d+\. On the countertop 1, you see /)
  assert.not.ok(state.admissible.includes('help'))
  const take = state.admissible.find((command) => command.startsWith('take ')) ?? ''
  const held = advance(state, take)
  assert.ok(held.admissible.some((command) => /^put .* in\/on countertop 1$/.test(command)))
})

test('heat and cool undo each other, clean does not', () => {
  const game = loadGame(fixtureText('pick_heat_then_place_in_recep-Cup'))
  const start = initialState(game)
  const all = (...predicates: string[]) =>
    predicates
      .map((p) => factsOf(start.world, p).map(([id]) => id))
      .reduce((a, b) => a.filter((id) => b.includes(id)))
  const nameOf = (id: string) => game.names[game.tables.ids.indexOf(id)]
  const open = (id: string) => !factsOf(start.world, 'openable').some(([other]) => other === id)
  const [id, place] = all('heatable', 'coolable', 'cleanable')
    .filter((candidate) => !all('isreceptacleobject').includes(candidate))
    .flatMap((candidate) => factsOf(start.world, 'inreceptacle').filter(([object]) => object === candidate))
    .find(([, receptacle]) => open(receptacle)) as [string, string]
  const [object, from] = [nameOf(id), nameOf(place)]
  const hot = [
    `go to ${from}`,
    `take ${object} from ${from}`,
    'go to microwave 1',
    `heat ${object} with microwave 1`,
  ]
  const clean = [...hot, 'go to sinkbasin 1', `clean ${object} with sinkbasin 1`]
  const cool = [...clean, 'go to fridge 1', `cool ${object} with fridge 1`]
  const examined = (commands: string[]) =>
    advance(commands.reduce(advance, start), `examine ${object}`).observation
  assert.is(examined(hot), `This is a hot ${object}.`)
  assert.is(examined(clean), `This is a hot and clean ${object}.`)
  assert.is(examined(cool), `This is a cool and clean ${object}.`)
})

/** The walkthrough's commands before the first that begins with the word. */
function walkTo(words: string, verb: string): string[] {
  const walkthrough = fixtureFile(words).walkthrough ?? []
  return walkthrough.slice(
    0,
    walkthrough.findIndex((command) => command.startsWith(verb)),
  )
}

/** The walkthrough's first command that begins with the word. */
const nextCommand = (words: string, verb: string) =>
  fixtureFile(words).walkthrough?.find((command) => command.startsWith(verb)) ?? ''

test('score is a value of the state: undone, it falls', () => {
  const game = loadGame(fixtureText('pick_and_place_simple'))
  const won = (game.walkthrough ?? []).reduce(advance, initialState(game))
  assert.equal([won.won, won.score, won.done], [true, 1, true])
  const [, object, place] = /move (.*) to (.*)/.exec(game.walkthrough?.at(-1) ?? '') ?? []
  const undone = advance(won, `take ${object} from ${place}`)
  assert.equal([undone.won, undone.score, undone.done], [false, 0, false])
})

test('after the end the result is frozen', () => {
  const game = loadGame(fixtureText('pick_and_place_simple'))
  const won = (game.walkthrough ?? []).reduce(step, initialState(game))
  assert.is(step(won, 'look'), won)
})

test('the step limit counts every command, also those to which nothing happens', () => {
  const start = initialState(games[0], { maxSteps: 3 })
  const states = ['dance', 'look', 'dance', 'look'].map((_, i, all) =>
    all.slice(0, i + 1).reduce(step, start),
  )
  assert.equal(
    states.map(({ done }) => done),
    [false, false, true, true],
  )
  assert.equal(
    states.map(({ steps }) => steps),
    [1, 2, 3, 3],
  )
  assert.equal([states[3].moves, states[3].observation], [1, NOTHING_HAPPENS])
})

test('walkthroughs with ids, as release 2.1.2 has them, play as well', () => {
  const file = fixtureFile('pick_and_place_simple')
  const game = gameOf(file)
  const idOf = new Map(game.names.map((name, entity) => [name, game.tables.ids[entity]]))
  const walkthrough = file.walkthrough?.map((line) =>
    line.replace(/\w+ \d+/g, (name) => idOf.get(name) ?? name),
  )
  assert.match(walkthrough?.join() ?? '', /_bar_/)
  assert.equal(gameOf({ ...file, walkthrough }).walkthrough, game.walkthrough)
})

test('shuffled names give the same game under other numbers', () => {
  const text = fixtureText('pick_two_obj')
  const [plain, shuffled] = [loadGame(text), loadGame(text, 'g', { shuffle: [1, 2] })]
  assert.not.equal(plain.names, shuffled.names)
  assert.equal(initialState(plain).admissible, initialState(shuffled).admissible)
})

/** A random walk through one of the games: some commands are admissible, some are not. */
const walk = fc.record({
  game: fc.nat(games.length - 1),
  seed: fc.tuple(fc.nat(), fc.nat()),
  length: fc.nat(25),
})
const OTHERS = ['', 'dance', 'go to nowhere 1', 'LOOK', 'look  ', 'examine loc 1', 'take cup 9 from shelf 9']

test('property: admissible commands answer and change something or ask; all others change nothing', () => {
  const asks = /^(look|inventory|help|examine .*)$/
  fc.assert(
    fc.property(walk, ({ game, seed, length }) => {
      const { pick, below } = rng(seed)
      let state = initialState(games[game])
      for (let i = 0; i < length; i++) {
        const facts = JSON.stringify(state.world.facts)
        const odd = pick(OTHERS)
        if (!state.admissible.includes(odd.trim())) {
          const same = advance(state, odd)
          assert.is(same.observation, NOTHING_HAPPENS)
          assert.is(same.world, state.world)
          assert.equal([same.steps, same.moves], [state.steps + 1, state.moves])
        }
        const command = below(4)
          ? pick(state.admissible)
          : pick(state.admissible.filter((c) => !c.startsWith('go ')))
        const next = advance(state, command)
        assert.is.not(next.observation, NOTHING_HAPPENS)
        assert.is(JSON.stringify(state.world.facts), facts, 'the state before is left as it was')
        const changed = [
          'atlocation',
          'inreceptacle',
          'holds',
          'opened',
          'isclean',
          'ishot',
          'iscool',
          'istoggled',
          'issliced',
          'ison',
        ].some((p) => JSON.stringify(factsOf(state.world, p)) !== JSON.stringify(factsOf(next.world, p)))
        const again = /^(clean|heat|cool|slice) /.test(command)
        if (!asks.test(command) && !again) assert.ok(changed, command)
        state = next
      }
    }),
    { numRuns: 150 },
  )
})

test('property: going on from a kept state is the same as playing from the start', () => {
  fc.assert(
    fc.property(walk, fc.nat(25), ({ game, seed, length }, cut) => {
      const { pick } = rng(seed)
      const states = [initialState(games[game])]
      const commands: string[] = []
      for (let i = 0; i < length; i++) {
        commands.push(pick(states[i].admissible))
        states.push(advance(states[i], commands[i]))
      }
      const from = Math.min(cut, length)
      const continued = commands.slice(from).reduce(advance, states[from])
      const fresh = loadGame([...fixtureTexts().values()][game])
      const replayed = commands.reduce(advance, initialState(fresh))
      assert.is(content(continued), content(replayed))
      const unremembered = { ...initialWorld(fresh), facts: continued.world.facts }
      assert.equal(commandsOf(unremembered), continued.admissible, 'nothing kept is out of date')
    }),
    { numRuns: 60 },
  )
})

test('commands are sorted by code unit and stand once', () => {
  for (const game of games) {
    const { admissible } = step(initialState(game), 'look')
    assert.equal(
      admissible,
      [...new Set(admissible)].sort((a, b) => (a < b ? -1 : 1)),
    )
    const cabinets = admissible.filter((command) => /go to cabinet 1?\d$/.test(command))
    if (cabinets.length > 10)
      assert.ok(cabinets.indexOf('go to cabinet 10') < cabinets.indexOf('go to cabinet 2'))
  }
})

test.run()
