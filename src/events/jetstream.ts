/** The hint if a server or an account has no JetStream. It keeps the queues of a run. */
export const JETSTREAM_HINT =
  'start nats-server with -js and give the account JetStream, or leave out --nats: the head starts a server of its own'
