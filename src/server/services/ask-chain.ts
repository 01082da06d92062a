import { setTimeout as delay } from 'node:timers/promises'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { RunElsewhere } from '../chain/chains.ts'
import type { EvmNetwork } from '../chain/evm/network.ts'
import { notNow } from './refusal.ts'
import type { ServiceDeps } from './services.ts'

/** Timeout of the chain for what a request depends on. */
const CHAIN_PATIENCE_MS = 10_000

/**
 * Reads from a chain what a request depends on. Without a response nothing is accepted, regardless of the cause.
 *
 * @param subject what is read, in messages
 * @throws Refusal 503
 */
export async function askChain<Result>(
  { chains }: Pick<ServiceDeps, 'chains'>,
  blockchain: EvmBlockchain,
  subject: string,
  ask: (network: EvmNetwork) => Promise<Result>,
): Promise<Result> {
  const tooLong = async () => {
    await delay(CHAIN_PATIENCE_MS, undefined, { ref: false })
    throw new Error(`${blockchain} did not respond within ${CHAIN_PATIENCE_MS / 1000} s`)
  }
  try {
    return await Promise.race([chains.network(blockchain).then(ask), tooLong()])
  } catch (cause) {
    const message =
      cause instanceof RunElsewhere
        ? `${cause.message}, so ${subject} can't be verified; nothing was accepted`
        : `${subject} on ${blockchain} can't be verified; nothing was accepted, try again`
    const refusal = notNow(message, 1)
    refusal.cause = cause
    throw refusal
  }
}
