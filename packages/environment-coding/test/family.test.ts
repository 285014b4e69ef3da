import fc from 'fast-check'
import { rng, seedOf } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../src/executor.ts'
import { blamedStep } from '../src/family/blame.ts'
import { sameFunctionAs } from '../src/family/function.ts'
import { OPERATIONS } from '../src/family/operations.ts'
import {
  type FamilyRecipe,
  idOf,
  levelOf,
  parseRecipe,
  problemOf,
  templateOf,
  whyPoor,
} from '../src/family/recipe.ts'
import { rewriteRecipe } from '../src/family/rewrite.ts'
import { draw, drawRecipes, templates } from '../src/family/templates.ts'
import { readUnitTest, scriptedUnitTest, writeUnitTest } from '../src/family/unit-test.ts'
import { grade } from '../src/grade.ts'
import { mutate, scriptedProgram } from '../src/scripted.ts'
import { openProvider } from './sandboxes.ts'

const all = templates()

test('there are at least 200 templates, all different, of all kinds of input, graded', () => {
  const names = new Set(
    all.map(({ shape, operations }) => [shape, ...operations.map(({ name }) => name)].join('.')),
  )
  assert.is(names.size, all.length)
  assert.ok(all.length >= 200, `${all.length}`)
  assert.is(new Set(all.map(({ shape }) => shape)).size, 6)
  const levels = new Set(all.map(({ operations }) => operations.reduce((sum, { level }) => sum + level, 0)))
  assert.ok(levels.size >= 5)
  assert.is(new Set(OPERATIONS.map(({ name }) => name)).size, OPERATIONS.length)
})

test('no problem of ood computes what one of train does, and training meets none of them by rewriting', () => {
  const drawn = (split: 'train' | 'ood', without?: (recipe: FamilyRecipe) => boolean) =>
    drawRecipes({ split, count: split === 'train' ? 199 : 64, maxLevel: 4, seed: 1, without })
  const train = drawn('train')
  const isTrained = sameFunctionAs(train)
  assert.ok(drawn('ood').some(isTrained), 'by templates alone they share some')
  const heldOut = drawn('ood', isTrained)
  assert.ok(heldOut.length >= 32, `${heldOut.length}`)
  assert.not(heldOut.some(isTrained))
  const isHeldOut = sameFunctionAs(heldOut)
  for (const [i, recipe] of train.entries())
    for (const direction of ['harder', 'easier'] as const) {
      const rewritten = rewriteRecipe(
        recipe,
        direction,
        { taken: [], critique: '', seed: seedOf(i) },
        isHeldOut,
      )
      if (typeof rewritten !== 'string') assert.not(isHeldOut(rewritten), idOf(rewritten))
    }
})

test('the same function is found in other words, and another one is told apart', () => {
  const recipe = (shape: FamilyRecipe['shape'], ...steps: FamilyRecipe['steps'][number][]): FamilyRecipe => ({
    ...{ kind: 'generated', shape, steps },
  })
  const plus = OPERATIONS.find(({ name }) => name === 'int-plus')
  assert.ok(plus, 'int-plus')
  const one = recipe('int', ['int-plus', 3])
  assert.ok(sameFunctionAs([recipe('int', ['int-plus', 1], ['int-plus', 2])])(one))
  assert.not(sameFunctionAs([recipe('int', ['int-plus', 4])])(one))
  assert.not(sameFunctionAs([])(one))
})

test('in CPython the reference solution of every template passes all its tests, and a mutant of most fails', async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const problems = all.flatMap((template, i) => draw(template, rng(seedOf(1, i))) ?? []).map(problemOf)
  assert.ok(problems.length >= 200)
  const request = (program: string, i: number) => ({
    problem: problems[i],
    program,
    tests: problems[i].tests,
  })
  const right = await grade(
    executor,
    problems.map((problem, i) => request(problem.solutions[0], i)),
  )
  for (const [i, row] of right.entries())
    for (const { passed, result } of row)
      assert.is(passed, true, `${problems[i].id} ${result.stderrTail} ${result.stdout}`)
  const sample = problems.slice(0, 60)
  const mutants = await grade(
    executor,
    sample.map((problem, i) =>
      request(
        mutate(problem.solutions[0], seedOf(2, i), ['other-constant', 'other-operator', 'silent', 'raises'])
          .program,
        i,
      ),
    ),
  )
  const failing = mutants.filter((row) => row.some(({ passed }) => passed === false)).length
  assert.ok(failing > 50, `${failing} of ${sample.length}`)
  await executor.close()
})

test('splits share no problem, out-of-distribution ones no template, and the same seed gives the same problems', () => {
  const read = (split: 'train' | 'in-domain' | 'ood') =>
    drawRecipes({ split, count: 100, maxLevel: 9, seed: 5 })
  const [train, near, far] = [read('train'), read('in-domain'), read('ood')]
  const ids = [...train, ...near, ...far].map(idOf)
  assert.is(new Set(ids).size, ids.length)
  const known = new Set([...train, ...near].map(templateOf))
  assert.not.ok(far.some((recipe) => known.has(templateOf(recipe))))
  assert.equal(read('train'), train)
  const easy = drawRecipes({ split: 'train', count: 50, maxLevel: 2, seed: 5 })
  assert.ok(easy.every((recipe) => levelOf(recipe) <= 2))
})

const pool = drawRecipes({ split: 'train', count: 200, maxLevel: 6, seed: 9 })

test('rewriting gives another good problem, harder or easier unless only its constants could change', () => {
  const requests = fc.tuple(
    fc.constantFrom(...pool),
    fc.constantFrom('harder' as const, 'easier' as const),
    fc.nat(),
  )
  let moved = 0
  let made = 0
  fc.assert(
    fc.property(requests, ([recipe, direction, seed]) => {
      const rewritten = rewriteRecipe(recipe, direction, { taken: [], critique: '', seed: seedOf(seed) })
      if (typeof rewritten === 'string') return
      made++
      assert.is.not(idOf(rewritten), idOf(recipe))
      assert.is(whyPoor(rewritten), null)
      assert.equal(parseRecipe(JSON.parse(JSON.stringify(rewritten))), rewritten)
      const change = levelOf(rewritten) - levelOf(recipe)
      if (change !== 0) {
        moved++
        assert.is(change > 0, direction === 'harder')
      } else assert.is(templateOf(rewritten), templateOf(recipe))
      assert.equal(
        rewriteRecipe(recipe, direction, { taken: [], critique: '', seed: seedOf(seed) }),
        rewritten,
      )
      const other = rewriteRecipe(recipe, direction, {
        taken: [idOf(rewritten)],
        critique: '',
        seed: seedOf(seed),
      })
      if (typeof other !== 'string') assert.is.not(idOf(other), idOf(rewritten))
    }),
    { numRuns: 40 },
  )
  assert.ok(moved > made / 2, `${moved} of ${made}`)
})

test('unit tests are read as they are written, whatever the spaces; the scripted writer errs as often as it is told to', () => {
  const problem = problemOf(pool[0])
  for (const one of problem.tests) {
    assert.equal(readUnitTest(writeUnitTest(one)), { test: one })
    const spaced = writeUnitTest(one).replaceAll('\n', ' ')
    assert.equal(readUnitTest(`input 1 output ${spaced}`), { test: one })
  }
  for (const bad of ['', 'input 1', 'output 1 input 2', 'input output 1', 'input 1 output'])
    assert.ok('reason' in readUnitTest(bad), bad)
  const written = Array.from({ length: 200 }, (_, i) => scriptedUnitTest(problem.tests, 0.5, seedOf(i)))
  const right = written.filter((text) => problem.tests.some((one) => writeUnitTest(one) === text)).length
  assert.ok(right > 70 && right < 130, `${right}`)
})

test('what is no recipe is refused', () => {
  for (const bad of [
    null,
    {},
    { kind: 'generated', shape: 'int', steps: [] },
    { kind: 'generated', shape: 'int', steps: [['word-upper', 0]] },
    { kind: 'generated', shape: 'int', steps: [['int-plus', 500]] },
  ])
    assert.throws(() => parseRecipe(bad), /recipe/)
})

test('the scripted policy is right as often as it is told to be', () => {
  const problem = problemOf(pool[0])
  const right = Array.from({ length: 400 }, (_, i) => scriptedProgram(problem, 0.7, seedOf(i))).filter(
    (program) => program === problem.solutions[0],
  ).length
  assert.ok(right > 240 && right < 320, `${right}`)
})

test('an easier problem is without the operation that failed programs left out', () => {
  const recipe: FamilyRecipe = {
    kind: 'generated',
    shape: 'int',
    steps: [
      ['int-plus', 3],
      ['int-times', 4],
      ['int-minus', 5],
    ],
  }
  // 6: ((6 + 3) * 4) - 5 = 31; without the second step 4, and that twice as often as another fault.
  const critique = '2x on input 6 it printed 4, expected 31\n1x on input 6 it printed 36, expected 31\nnoise'
  assert.is(blamedStep(recipe, critique), 1)
  assert.is(blamedStep(recipe, 'on input 6 it ended with timeout, expected 31'), null)
  const rewritten = rewriteRecipe(recipe, 'easier', { taken: [], critique, seed: seedOf(1) })
  assert.is(typeof rewritten === 'string' ? rewritten : idOf(rewritten), 'gen/int.int-plus-3.int-minus-5')
})

test.run()
