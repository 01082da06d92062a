import { sleep } from '../../core/time.ts'
import { isNoAnswer } from '../chain/rpc/rpc-answer.ts'
import type { SetupOptions } from './options.ts'

/**
 * Looks again and again until there is something to tell. A network that goes away meanwhile comes back: that is said
 * once, and waited for. What is under way when the signal comes is cut.
 */
export async function until<Found>(
  { network, signal, say }: Pick<SetupOptions, 'network' | 'signal' | 'say'>,
  what: string,
  look: () => Promise<Found | null>,
): Promise<Found> {
  const cut = () => void network.close()
  let failures = 0
  say(what)
  signal.addEventListener('abort', cut, { once: true })
  try {
    for (;;) {
      signal.throwIfAborted()
      try {
        const found = await look()
        if (found !== null) return found
        if (failures > 1) say(what)
        failures = 0
      } catch (error) {
        if (signal.aborted || !isNoAnswer(error)) throw signal.aborted ? signal.reason : error
        failures += 1
        // Once is usual: of several nodes one is a block behind.
        if (failures === 2) say(`${what}: ${error.message}; trying on`)
      }
      await sleep(network.publicNetwork.pollMs, signal)
    }
  } finally {
    signal.removeEventListener('abort', cut)
  }
}
