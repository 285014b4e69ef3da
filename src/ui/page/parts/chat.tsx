/** What an agent told its model in one call, and what the model answered. */
import type { ChatCall, ChatMessage } from '../../logic/chat-page.ts'
import { count } from '../../logic/format.ts'
import { Said } from './states.tsx'

export function Chat({ call }: { call: ChatCall }) {
  return (
    <>
      <p class="muted">
        call of <Said text={call.model} />, ended by <Said text={call.finish} />
        {call.kept > 0 && `; ${count(call.kept)} messages as before`}
        {call.left > 0 && `; ${count(call.left)} new ones are left out`}
        {call.offered.length > 0 && (
          <>
            ; tools: <Said text={call.offered.join(', ')} />
          </>
        )}
      </p>
      <ol class="chat">
        {[...call.messages, call.answer].map((message, i) => (
          <Message key={i} message={message} />
        ))}
      </ol>
    </>
  )
}

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool']

function Message({ message: { role, text, reasoning, calls, answers } }: { message: ChatMessage }) {
  return (
    <li class={ROLES.includes(role) ? role : ''}>
      <strong>
        <Said text={role} />
      </strong>
      {answers !== null && (
        <span class="muted">
          {' '}
          to <Said text={answers} />
        </span>
      )}
      {reasoning !== null && (
        <p class="muted">
          <Said text={reasoning} />
        </p>
      )}
      {text !== '' && (
        <pre>
          <Said text={text} />
        </pre>
      )}
      {calls.map((call, i) => (
        <p key={i}>
          calls{' '}
          <code>
            <Said text={call.name} />
          </code>{' '}
          <Said text={call.input} />
        </p>
      ))}
    </li>
  )
}
