// These modules send requests. One file bundles them, so that the first request loads them together.
export { createClient } from '../client/client.ts'
export { createTransport } from '../client/create-transport.ts'
export { KnownBackends } from '../client/known-backends.ts'
export { createSharedPace } from '../client/pace/shared-pace.ts'
export { createPacer } from '../client/pacer.ts'
