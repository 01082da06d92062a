import { sleep } from '../../src/core/time.ts'
import { nodeUnreachableError } from '../../src/server/chain/evm/embedded/node-rpc.ts'
import type { EvmNetwork } from '../../src/server/chain/evm/network.ts'

/** Maximum time that a call hangs before it fails, in milliseconds. */
const LONGEST_HANG_MS = 1500

/** A network where a share of the calls fail or hang: half of them before execution, half of them after. */
export function faultyNetwork(
  network: EvmNetwork,
  { random, share }: { random: () => number; share: number },
): EvmNetwork {
  const spoil = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (random() >= share) return work()
    const done = random() < 0.5
    if (done) await work()
    if (random() < 0.3) await sleep(random() * LONGEST_HANG_MS)
    throw nodeUnreachableError(done ? 'lost the response (test)' : "doesn't respond (test)")
  }
  return {
    ...network,
    request: (method, params) => spoil(() => network.request(method, params)),
    broadcast: (raws) => spoil(() => network.broadcast(raws)),
    receipts: (hashes) => spoil(() => network.receipts(hashes)),
  }
}
