import { seedOf } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { copyingLesson, valueTokens } from '../../../src/actors/writing/copying-lesson.ts'
import { textCodec, textPrompt } from '../../../src/actors/writing/packing.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { familyTexts } from '../src/environment.ts'
import { problemOf } from '../src/family/recipe.ts'
import { drawRecipes } from '../src/family/templates.ts'

const codec = textCodec(createTokenizer(trainWordTokenizer({ texts: familyTexts(), maxWords: 500 })))
const problems = drawRecipes({ split: 'train', count: 20, maxLevel: 2, seed: 1 }).map(problemOf)
const values = valueTokens(
  codec,
  problems.flatMap(({ tests }) => tests),
)
const [line] = codec.encode('\n')
const lesson = (seed: number) => copyingLesson(codec, values, { count: 30, seed: seedOf(seed) })

test('an answer is what its prompt shows, has the form of unit tests, and alone is learned', () => {
  for (const { tokens, mask } of lesson(1)) {
    const begin = tokens.indexOf(codec.begin)
    const shown = tokens.slice(0, begin + 1 - textPrompt(codec, 'test', '').length)
    assert.equal([...tokens.slice(begin + 1)], [...shown, codec.end])
    assert.is(shown[0], codec.encode('input')[0])
    assert.ok(shown.includes(codec.encode('output')[0]))
    assert.is(shown.at(-1), line)
    assert.is(mask.indexOf(1), begin + 1)
  }
})

test('its values are those of the problems, and no two samples are alike', () => {
  assert.is(new Set(values).size, values.length)
  assert.not.ok(values.includes(line))
  const texts = lesson(1).map(({ tokens }) => tokens.join())
  assert.is(new Set(texts).size, texts.length)
  assert.equal(
    lesson(1).map(({ tokens }) => tokens.join()),
    texts,
  )
  assert.not.equal(
    lesson(2).map(({ tokens }) => tokens.join()),
    texts,
  )
})

test.run()
