// The modules that send requests, in one file that is loaded with the first request.
export { createClient } from '../client/client.ts'
export { createTransport } from '../client/create-transport.ts'
export { KnownBackends } from '../client/known-backends.ts'
export { createSharedPace } from '../client/pace/shared-pace.ts'
export { createPacer } from '../client/pacer.ts'
