/** The page of a rollout: played back in time, with its tokens, and with the chat of its agent. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { EventData, LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import type { TrajectoryPage } from '../../src/ui/logic/answers.ts'
import type { ChatPage } from '../../src/ui/logic/chat-page.ts'
import { paceOf, SPEEDS, shadeOf } from '../../src/ui/logic/playback.ts'
import { textsOf } from '../../src/ui/server/token-texts.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { idOf, madeEvents, writeRun } from './made-run.ts'
import { browse, hasBrowser, readPages } from './reading-pages.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const source = unpackFixture(root)
const log = openLogReader(source.log)
const long = [...log.events({ types: ['TrajectoryCompleted'] })].find(
  ({ data }) => data.purpose === 'train' && data.steps > 3,
)!.data
log.close()

test('a speed is that many steps a second, and the address changes seldom', () => {
  for (const speed of SPEEDS) {
    const { everyMs, steps } = paceOf(speed)
    assert.ok(everyMs >= 160)
    assert.ok(Math.abs(steps / (everyMs / 1000) - speed) < 0.35 * speed, `${speed}`)
  }
  assert.equal([0, -0.5, -1, -2, -9].map(shadeOf), [0, 1, 2, 3, 4])
})

test('tokens have the texts of each kind of vocabulary', () => {
  const bytes = textsOf({
    model: { vocab: { Ġgo: 0, Ċ: 1, 'ä½': 2 } },
    decoder: { type: 'ByteLevel' },
    added_tokens: [{ id: 9, content: '<|end|>' }],
  })
  assert.equal([0, 1, 2, 9, 7].map(bytes), [' go', '\n', 'ä½', '<|end|>', null])
  assert.is(textsOf({ model: { vocab: [['▁go', -1.5]] } })(0), ' go')
  assert.is(textsOf({ model: { vocab: { '##ing': 3 } } })(3), '##ing')
  for (const hostile of [null, 7, { model: { vocab: 'x' } }, { model: { vocab: [null] } }])
    assert.is(textsOf(hostile)(0), null)
})

const rolloutPath = `/rollouts/${long.rollout}`

test('tokens are shown by their ids until there is a tokenizer, and then by their texts', async () => {
  await readPages('/r/run', async ({ get }) => {
    const bare = await get<TrajectoryPage>(rolloutPath)
    const tokens = bare.steps.flatMap((step) => step.tokens)
    assert.ok(tokens.length > 0)
    assert.ok(tokens.every(({ text }) => text === null))
    for (const step of bare.steps.filter(({ tokens }) => tokens.length > 0))
      assert.type(step.tokens.at(-1)?.logprob, 'number', 'what follows is the next prompt')
    assert.not.ok(bare.chats)
    const folder = join(
      runFolder('run').folder,
      'checkpoints/policy',
      String(long.policyVersion).padStart(5, '0'),
    )
    mkdirSync(folder, { recursive: true })
    const vocab = Object.fromEntries(tokens.map(({ id }) => [`word-${id}`, id]))
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify({ model: { vocab } }))
    const read = (await get<TrajectoryPage>(rolloutPath)).steps.flatMap((step) => step.tokens)
    assert.ok(read.every(({ id, text }) => text === `word-${id}`))
  })
})

/** A run whose first rollout is an agent's, with hostile texts. */
const made = [...madeEvents(1)]
const played = made.find(({ type }) => type === 'TrajectoryCompleted') as LoggedEvent<'TrajectoryCompleted'>
const HOSTILE = '<img src=x onerror=alert(1)>\u202eabc'
const calls: EventData<'CallsRecorded'>['calls'] = [
  {
    kept: 0,
    messages: JSON.stringify([
      { role: 'system', content: 'be kind' },
      { role: 'user', content: [{ type: 'text', text: HOSTILE }, { type: 'image_url' }] },
      7,
      { role: 'tool', tool_call_id: 'c0', content: 'x'.repeat(20_000) },
    ]),
    tools: JSON.stringify([{ type: 'function', function: { name: 'search' } }]),
    answer: JSON.stringify({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', function: { name: 'search', arguments: '{"q":"keys"}' } }],
    }),
    model: 'tiny',
    finish: 'tool_calls',
  },
]
const chatted = {
  ...played,
  id: idOf(900_000),
  type: 'CallsRecorded',
  data: { rollout: played.data.rollout, calls },
} as unknown as LoggedEvent
writeRun(root, 'chatted', [...made, chatted])

test('the chat of an agent is told by roles, in bounds', async () => {
  await readPages('/r/chatted', async ({ ask }) => {
    const { status, body } = await ask(`/api/r/chatted/chats/${played.data.rollout}`)
    assert.is(status, 200)
    const [call] = (body as ChatPage).calls
    assert.equal(
      call.messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'tool'],
    )
    assert.is(call.messages[1].text, `${HOSTILE}\n[image_url]`)
    assert.match(call.messages[3].text, /14000 characters more/)
    assert.equal(call.offered, ['search'])
    assert.equal(call.answer.calls, [{ id: 'c1', name: 'search', input: '{"q":"keys"}' }])
    assert.is((await ask('/api/r/chatted/chats/1/nowhere/0')).status, 404)
    assert.is((await ask(`/api/r/run/chats/${long.rollout}`)).status, 404)
  })
})

if (hasBrowser()) {
  test('Space plays the steps back, j and k step, and the address names the step', async () => {
    await readPages(`/r/run/t/${long.rollout}?step=1`, async (reading) => {
      await browse(reading, async (page) => {
        const shown = () => new URL(page.url()).searchParams.get('step')
        await page.locator('tr[aria-selected=true] .token').first().waitFor()
        await page.keyboard.press('j')
        await page.waitForURL(/step=2$/)
        await page.keyboard.press('k')
        await page.waitForURL(/step=1$/)
        // Keys that come faster than the page is drawn lose no step.
        await page.evaluate(`for (const key of ['j', 'j', 'k'])
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))`)
        await page.waitForURL(/step=2$/)
        await page.keyboard.press('k')
        await page.waitForURL(/step=1$/)
        await page.getByLabel('speed').selectOption('32')
        await page.getByLabel('speed').blur()
        await page.keyboard.press(' ')
        await page.waitForURL(new RegExp(`step=${long.steps - 1}$`))
        await page.getByRole('button', { name: 'play', exact: false }).first().waitFor()
        await page.keyboard.press(' ')
        await page.keyboard.press(' ')
        assert.ok(Number(shown()) < long.steps, 'it plays from the start again')
        await page.getByRole('button', { name: 'the step before' }).click()
        await page.reload()
        await page.locator('tr[aria-selected=true] details[open]').waitFor()
      })
    })
  })

  test('what an agent wrote is text', async () => {
    await readPages(`/r/chatted/t/${played.data.rollout}?step=0`, async (reading) => {
      await browse(reading, async (page) => {
        await page.getByText('<img src=x onerror=alert(1)>␛202eabc').waitFor()
        await page.getByText('{"q":"keys"}').waitFor()
        assert.is(await page.locator('main img').count(), 0)
      })
    })
  })
}

test.run()
