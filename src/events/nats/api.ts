/** Subjects and headers of JetStream's wire protocol. */

/** Subject that creates a stream. */
export const createSubject = (stream: string) => `$JS.API.STREAM.CREATE.${stream}`

/** Subject that returns a message of a stream by its number or its subject. The answer is JSON. */
export const getSubject = (stream: string) => `$JS.API.STREAM.MSG.GET.${stream}`

/** Subject that asks for work. `>` stands for every consumer. */
export const nextSubject = (stream: string, consumer: string) =>
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`

/** Subject that hears the result of each delivery of a stream. */
export const ackSubjects = (stream: string) => `$JS.ACK.${stream}.>`

/** Returns whether a subject belongs to JetStream. Nobody answers there if a server runs without it. */
export function isJetStream(subject: string): boolean {
  return subject.startsWith('$JS.')
}

/** The write succeeds only if this is the number of the last message with the same subject, or 0 if there is none. */
export const EXPECTED_LAST_HEADER = 'Nats-Expected-Last-Subject-Sequence'
