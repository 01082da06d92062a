import { sleep } from '../../core/time.ts'
import { formatGwei } from '../../core/units.ts'
import { isRpcFailure } from '../chain/rpc/rpc-response.ts'
import type { SetupOptions } from './options.ts'

/** Returns the message for fees that are higher than the approved price. */
export const pricedOutMessage = (wei: bigint): string =>
  `Waiting until fees fall to the approved ${formatGwei(wei)} gwei. To approve more, interrupt the command and run it again`

/**
 * Polls `poll` until it returns a result. Reports an unreachable network once, and retries. The signal aborts the
 * request in flight.
 */
export async function pollUntil<Found>(
  { network, signal, report }: Pick<SetupOptions, 'network' | 'signal' | 'report'>,
  message: string,
  poll: () => Promise<Found | null>,
): Promise<Found> {
  const closeNetwork = () => void network.close()
  let failures = 0
  report(message)
  signal.addEventListener('abort', closeNetwork, { once: true })
  try {
    for (;;) {
      signal.throwIfAborted()
      try {
        const result = await poll()
        if (result !== null) return result
        if (failures > 1) report(message)
        failures = 0
      } catch (error) {
        if (signal.aborted || !isRpcFailure(error)) throw signal.aborted ? signal.reason : error
        failures += 1
        // Don't report a single failure, which is common, because one of several nodes may lag by a block.
        if (failures === 2) report(`${message}: ${error.message}, retrying`)
      }
      await sleep(network.publicNetwork.pollMs, signal)
    }
  } finally {
    signal.removeEventListener('abort', closeNetwork)
  }
}
