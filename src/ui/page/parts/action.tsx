/** A button that asks for an `rl` command: it shows the command first, then how it goes and what came of it. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Fault, Job } from '../../logic/answers.ts'
import { duration } from '../../logic/format.ts'
import { fetchAnswer, mayAct } from '../answers.ts'
import { isReport } from '../report.ts'
import { useModal } from './modal.ts'
import { FaultBox, Said } from './states.tsx'

/** A field of the dialog, with the value that it begins with. */
type Field = {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly kind: 'number' | 'text' | 'lines' | 'tick'
  readonly hint?: string
}

type ActionProps = {
  readonly run: string
  /** Name of the action, e.g. `pause`. */
  readonly kind: string
  readonly label: string
  readonly title: string
  /** What it does, in a sentence. */
  readonly does: string
  /** Key that opens it. */
  readonly hotkey?: string
  /** Values that nobody changes. */
  readonly input?: Readonly<Record<string, unknown>>
  readonly fields?: readonly Field[]
  /** Draws what the command printed. */
  readonly children?: (result: unknown) => ComponentChildren
}

export function Action(props: ActionProps) {
  const isOpen = useSignal(false)
  if (isReport || !mayAct.value) return null
  return (
    <>
      <button type="button" class="quiet" data-key={props.hotkey} onClick={() => (isOpen.value = true)}>
        {props.label}
      </button>
      {isOpen.value && <Dialog {...props} onClose={() => (isOpen.value = false)} />}
    </>
  )
}

const LOOK_MS = 300

function Dialog(props: ActionProps & { readonly onClose: () => void }) {
  const { run, kind, title, does, fields = [], input = {}, children, onClose } = props
  const box = useModal()
  const submit = useRef<HTMLButtonElement>(null)
  const values = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries(fields.map(({ name, value }) => [name, value])),
  )
  const command = useSignal('')
  const fault = useSignal<Fault | null>(null)
  const job = useSignal<Job | null>(null)
  const address = `/api/r/${encodeURIComponent(run)}/actions/${kind}`
  const body = () => ({ ...input, ...inputOf(fields, values.peek()) })

  async function post<T>(url: string, sent: unknown): Promise<T | null> {
    try {
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(sent),
      }
      const answer = await fetchAnswer<T>(url, init)
      fault.value = null
      return answer
    } catch (error) {
      fault.value = error as Fault
      return null
    }
  }

  async function start(): Promise<void> {
    job.value = await post<Job>(address, body())
    while (box.current && job.value && job.value.endedAt === null) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      job.value = await fetchAnswer<Job>(`/api/jobs/${job.value.id}`).catch(() => job.peek())
    }
  }

  useLayoutEffect(() => {
    if (fields.length === 0) submit.current?.focus()
  }, [])
  useEffect(() => {
    const timer = setTimeout(async () => {
      const answer = await post<{ command: string }>(`${address}?only=command`, body())
      command.value = answer?.command ?? ''
    }, 100)
    return () => clearTimeout(timer)
  }, [values.value])

  const now = job.value
  return (
    <dialog ref={box} class="action" aria-labelledby="action-title" onClose={onClose}>
      <h2 id="action-title">{title}</h2>
      <p>{does}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (command.value !== '' && now === null) void start()
        }}
      >
        {fields.map((field) => (
          <Input
            key={field.name}
            field={field}
            value={values.value[field.name]}
            onChange={(value) => (values.value = { ...values.value, [field.name]: value })}
          />
        ))}
        <p class="muted">the same in a terminal:</p>
        <pre class="command">{command.value}</pre>
        {fault.value !== null && <FaultBox fault={fault.value} />}
        {now !== null && <State job={now}>{children}</State>}
        <div class="buttons">
          {now === null ? (
            <button ref={submit} type="submit" aria-disabled={command.value === ''}>
              {title}
            </button>
          ) : (
            now.endedAt === null && (
              <button type="button" onClick={() => void post(`/api/jobs/${now.id}/end`, {})}>
                end it
              </button>
            )
          )}
          <button type="button" onClick={() => box.current?.close()}>
            close
          </button>
        </div>
      </form>
    </dialog>
  )
}

function State({ job, children }: { job: Job; children?: (result: unknown) => ComponentChildren }) {
  if (job.state === 'waits') return <p role="status">waits for another job …</p>
  if (job.state === 'runs') return <p role="status">runs …</p>
  const took = duration(((job.endedAt ?? 0) - (job.startedAt ?? 0)) / 1000)
  if (job.state === 'failed')
    return (
      <div role="alert">
        <p>it failed after {took}</p>
        <pre>
          <Said text={job.error ?? ''} />
        </pre>
      </div>
    )
  return (
    <div role="status">
      <p>✓ done in {took}</p>
      {children?.(job.result)}
    </div>
  )
}

function Input({
  field,
  value,
  onChange,
}: {
  field: Field
  value: string
  onChange: (value: string) => void
}) {
  const { name, label, kind, hint } = field
  const id = `field-${name}`
  const take = (event: { readonly currentTarget: { readonly value: string } }) =>
    onChange(event.currentTarget.value)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {kind === 'lines' && <textarea id={id} rows={3} value={value} onInput={take} />}
      {kind === 'text' && <input id={id} type="text" value={value} onInput={take} />}
      {kind === 'number' && <input id={id} type="number" value={value} onInput={take} />}
      {kind === 'tick' && (
        <input
          id={id}
          type="checkbox"
          checked={value === 'yes'}
          onInput={(event) => onChange(event.currentTarget.checked ? 'yes' : '')}
        />
      )}
      {hint !== undefined && <small class="muted">{hint}</small>}
    </div>
  )
}

/** Values of the fields as the server takes them. An empty field is left out. */
function inputOf(
  fields: readonly Field[],
  values: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const { name, kind } of fields) {
    const text = (values[name] ?? '').trim()
    if (kind === 'lines') input[name] = text === '' ? [] : text.split('\n').map((line) => line.trim())
    else if (kind === 'tick') input[name] = text === 'yes'
    else if (text !== '') input[name] = kind === 'number' ? Number(text) : text
  }
  return input
}
