import type { CallOptions, ResponseOf } from './api-client.ts'
import { statusOf } from './responses.ts'

export type RunCosts = ResponseOf<'getruncosts'>['costs']

interface CostsClient {
  call(name: 'getruncosts', request: { run: string }, options?: CallOptions): Promise<ResponseOf<'getruncosts'>>
}

/** Returns the costs of a run, or null if the server doesn't know the run. */
export async function costsOf(
  { client }: { client: CostsClient },
  run: string,
  signal?: AbortSignal | undefined,
): Promise<RunCosts | null> {
  try {
    return (await client.call('getruncosts', { run }, { signal })).costs
  } catch (error) {
    if (statusOf(error) !== 404) throw error
    return null
  }
}
