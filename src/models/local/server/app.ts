import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { itemAt } from '../../../item-at.ts'
import { parseBody } from '../../../openai-api/bodies.ts'
import { apiError, bodyTooLarge, retryHeader, toApiError, unauthorised } from '../../../openai-api/errors.ts'
import { bearerOf } from '../../../secrets.ts'
import type { LocalGeneration, LocalModelFace, TokenEvent } from '../model.ts'
import { hasOpenPlace } from '../open-places.ts'
import { type Answers, createAnswers, type Told } from './answers.ts'
import { bestOf, type Plan, planChat, planCompletion } from './plan.ts'
import { parseChat, parseCompletion, parseLoad, parseUnload } from './requests.ts'
import type { NamedModel, ServedModels } from './served.ts'
import { createTextStream } from './text-stream.ts'

export type AppOptions = {
  readonly token: string
  readonly maxBodyBytes: number
  /** Most requests in progress. Further ones are answered with 429. */
  readonly maxRequests: number
}

const UTF8 = new TextEncoder()

/** Returns the OpenAI-compatible HTTP interface of local models. */
export function createApp(served: ServedModels, { token, maxBodyBytes, maxRequests }: AppOptions): Hono {
  const app = new Hono()
  const card = ({ name, model, root, created }: NamedModel) => ({
    id: name,
    object: 'model',
    created,
    owned_by: 'rlanything',
    root: root ?? name,
    max_model_len: model.ready.config.contextTokens,
  })
  const isAllowed = bearerOf(token)
  let inWork = 0

  app.onError((error) => {
    const { status, body } = toApiError(error)
    return Response.json(body, { status, headers: retryHeader(status) })
  })
  app.notFound((c) => {
    throw apiError(404, `there is no ${c.req.method} ${c.req.path}`, { code: 'not_found' })
  })
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.use('/v1/*', async (c, next) => {
    if (!isAllowed(c.req.header('authorization'))) throw unauthorised()
    await next()
  })
  app.use(
    '/v1/*',
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: () => {
        throw bodyTooLarge(maxBodyBytes)
      },
    }),
  )
  app.get('/v1/models', (c) => c.json({ object: 'list', data: served.list().map(card) }))
  app.get('/v1/models/:id{.+}', (c) => c.json(card(served.find(c.req.param('id')))))
  app.post('/v1/chat/completions', async (c) => {
    const body = parseChat(parseBody(await c.req.text()))
    const one = served.find(body.model)
    return answer(c, 'chat', one, planChat(body, one.model))
  })
  app.post('/v1/completions', async (c) => {
    const body = parseCompletion(parseBody(await c.req.text()))
    const one = served.find(body.model)
    return answer(c, 'completion', one, planCompletion(body, one.model))
  })
  app.post('/v1/load_lora_adapter', async (c) => {
    const { lora_name, lora_path } = parseLoad(parseBody(await c.req.text()))
    await served.load(lora_name, lora_path)
    return c.text(`Success: LoRA adapter '${lora_name}' added successfully.`)
  })
  app.post('/v1/unload_lora_adapter', async (c) => {
    const { lora_name } = parseUnload(parseBody(await c.req.text()))
    served.unload(lora_name)
    return c.text(`Success: LoRA adapter '${lora_name}' removed successfully.`)
  })
  return app

  async function answer(
    c: Context,
    kind: 'chat' | 'completion',
    one: NamedModel,
    plan: Plan,
  ): Promise<Response> {
    const { name, model } = one
    if (inWork >= maxRequests)
      throw apiError(429, `${maxRequests} requests are already in progress`, { code: 'too_many_requests' })
    const answers = createAnswers(kind, name, plan, model.tokenizer)
    inWork++
    const end = served.begin(one)
    const done = () => {
      inWork--
      end()
    }
    if (plan.stream) return streamed(model, plan, answers, c.req.raw.signal, done)
    try {
      const sampled = await model.sample(plan.requests, { signal: c.req.raw.signal })
      return c.json(answers.whole(bestOf(sampled, plan), sampled) as object)
    } finally {
      done()
    }
  }
}

/** Sends server-sent events. The response begins with the first token. So an earlier failure is answered with a status. */
function streamed(
  model: LocalModelFace,
  { requests, usageInStream, tools }: Plan,
  answers: Answers,
  clientGone: AbortSignal,
  done: () => void,
): Promise<Response> {
  const controller = new AbortController()
  const signal = AbortSignal.any([controller.signal, clientGone])
  return new Promise((resolve, reject) => {
    let sink: ReadableStreamDefaultController<Uint8Array> | undefined
    const stream = new ReadableStream<Uint8Array>({
      start(opened) {
        sink = opened
      },
      cancel() {
        sink = undefined
        controller.abort()
      },
    })
    let begun = false
    const write = (data: string) => sink?.enqueue(UTF8.encode(`data: ${data}\n\n`))
    const begin = () => {
      if (begun) return
      begun = true
      resolve(
        new Response(stream, {
          headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
        }),
      )
    }
    const tell = (chunk: unknown) => {
      begin()
      write(JSON.stringify(chunk))
    }
    const choices = requests.map((request, index) =>
      (tools || hasOpenPlace(requests[0]?.choices) ? callingStream : choiceStream)(
        model,
        request.stopTexts ?? [],
        index,
        answers,
        tell,
      ),
    )
    model
      .sample(requests, { signal, onToken: (event) => itemAt(choices, event.index).push(event) })
      .then((generations) => {
        for (const [index, choice] of choices.entries()) choice.end(itemAt(generations, index))
        if (usageInStream) tell(answers.usageChunk(generations))
        write('[DONE]')
      })
      .catch((error: unknown) => {
        if (!begun) reject(error)
        else write(JSON.stringify(toApiError(error).body))
      })
      .finally(() => {
        sink?.close()
        sink = undefined
        done()
      })
  })
}

/** Makes the chunks of one choice. A token whose text is not certain yet comes with the next. */
function choiceStream(
  model: LocalModelFace,
  stopTexts: readonly string[],
  index: number,
  answers: Answers,
  tell: (chunk: unknown) => void,
) {
  const known = createTextStream((tokens) => model.decode(tokens), stopTexts)
  let waiting: Told[] = []
  let prompt: Int32Array | undefined
  let opened = false
  const take = (text: string, ended: LocalGeneration | null) => {
    const promptTokens = opened ? undefined : prompt
    const { finish = null, stopText = null } = ended ?? {}
    const piece = { index, text, told: waiting, finish, stopText, promptTokens }
    for (const chunk of answers.chunks(piece)) tell(chunk)
    opened = true
    waiting = []
  }
  return {
    push({ draw, top, promptTokens }: TokenEvent) {
      prompt ??= promptTokens
      waiting.push({ draw, top, offset: known.length() })
      const piece = known.push(draw.token)
      if (piece !== '') take(piece, null)
    },
    end(generation: LocalGeneration) {
      prompt ??= generation.promptTokens
      take(known.end(generation.text), generation)
    },
  }
}

/** Makes the one chunk of a choice that may call tools, or has open places. Only its end shows what was said. */
function callingStream(
  _: LocalModelFace,
  __: readonly string[],
  index: number,
  answers: Answers,
  tell: (chunk: unknown) => void,
) {
  const told: Told[] = []
  return {
    push({ draw, top }: TokenEvent) {
      // Chats report no offsets.
      told.push({ draw, top, offset: 0 })
    },
    end({ text, finish, stopText, promptTokens }: LocalGeneration) {
      const { content, calls } = answers.said(text)
      const piece = { index, text: content, told, finish, stopText, promptTokens, calls }
      for (const chunk of answers.chunks(piece)) tell(chunk)
    },
  }
}
