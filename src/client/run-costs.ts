import type { Blockchain } from '../api/blockchains.ts'
import type { CallOptions, RequestOf, ResponseOf } from './api-client.ts'
import { findStatus } from './responses.ts'
import type { RunLimit } from './run-limit.ts'

export type RunCosts = ResponseOf<'getruncosts'>['costs']

interface CostsClient {
  call(name: 'getruncosts', request: { run: string }, options?: CallOptions): Promise<ResponseOf<'getruncosts'>>
}

/** Returns the costs of a run, or null if the server doesn't have the run. */
export async function readRunCosts(
  { client }: { client: CostsClient },
  run: string,
  signal?: AbortSignal | undefined,
): Promise<RunCosts | null> {
  try {
    return (await client.call('getruncosts', { run }, { signal })).costs
  } catch (error) {
    if (findStatus(error) !== 404) throw error
    return null
  }
}

interface LimitingClient {
  call<Name extends 'getruncosts' | 'setrunmaxcost'>(
    name: Name,
    request: RequestOf<Name>,
    options?: CallOptions,
  ): Promise<ResponseOf<Name>>
  learnCapabilities(options?: { signal?: AbortSignal | undefined }): Promise<unknown>
  supports(capability: 'runCosts'): boolean | null
}

interface RunLimitTarget {
  limit: RunLimit
  contract: string
  blockchain: Blockchain
  signal?: AbortSignal | undefined
}

/**
 * Sets the cost limit of a run on the server, for all requests that aren't signed yet. Call it before you send or
 * repeat requests of the run. The server may have accepted requests whose responses were lost, here or on another
 * machine, and a repeated request doesn't change the limit.
 *
 * An explicit limit of this command replaces the server's limit. Any other limit can only lower the server's limit,
 * because a user may have set a lower limit elsewhere. The limit can be set before the run exists on the server,
 * because the run's first requests may arrive later.
 *
 * @returns the limit to include in each request of the run. This limit can only lower the server's limit, because a
 *   request of a stopped command may arrive after a user has set a lower limit elsewhere
 */
export async function setRunLimit(
  client: LimitingClient,
  { limit, contract: contract_address, blockchain, signal }: RunLimitTarget,
): Promise<RunLimit> {
  const { run, maxCost } = limit
  if (maxCost === undefined) return limit
  await client.learnCapabilities({ signal })
  if (client.supports('runCosts') !== true) return limit
  const { wei, isSet } = maxCost
  const carried = { run, maxCost: { wei, isSet: false } }
  const onlyLower = !isSet
  if (onlyLower) {
    const costs = await readRunCosts({ client }, run, signal)
    if (costs?.max_cost != null && BigInt(costs.max_cost) <= wei) return carried
  }
  // The limit may be lowered elsewhere between the two requests, so the server compares the limits again.
  const only_lower = onlyLower ? true : undefined
  await client.call(
    'setrunmaxcost',
    { run, contract_address, blockchain, max_cost: String(wei), only_lower },
    { signal },
  )
  return carried
}
