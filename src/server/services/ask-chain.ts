import { setTimeout as delay } from 'node:timers/promises'
import type { Blockchain } from '../../api/blockchains.ts'
import { RunElsewhere } from '../chain/chains.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { ChainFacts } from '../pipeline/facts.ts'
import type { CollectionRow } from '../store/collections.ts'
import { notNow, type ServiceDeps } from './services.ts'

/** Timeout in milliseconds for reading chain state that a request depends on. */
const CHAIN_PATIENCE_MS = 10_000

/**
 * Reads chain state that a request depends on. If the chain can't be read, for any reason, the request is rejected.
 *
 * @param subject the name of the state, for error messages
 * @throws Refusal 503
 */
export async function askChain<Result>(
  { chains }: Pick<ServiceDeps, 'chains'>,
  collection: CollectionRow,
  subject: string,
  ask: (facts: ChainFacts) => Promise<Result>,
): Promise<Result> {
  const blockchain = collection.blockchain as Blockchain
  const tooLong = async () => {
    await delay(CHAIN_PATIENCE_MS, undefined, { ref: false })
    throw new Error(`${blockchain} did not respond within ${CHAIN_PATIENCE_MS / 1000} s`)
  }
  try {
    return await Promise.race([ask(chainFacts(chains, blockchain)), tooLong()])
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
