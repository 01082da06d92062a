import { setTimeout as delay } from 'node:timers/promises'
import type { EvmBlockchain, SolanaBlockchain } from '../../api/blockchains.ts'
import { RunElsewhere } from '../chain/chains.ts'
import type { EvmNetwork } from '../chain/evm/network.ts'
import type { SolanaNetwork } from '../chain/solana/network.ts'
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
export const askChain = <Result>(
  { chains }: Pick<ServiceDeps, 'chains'>,
  blockchain: EvmBlockchain,
  subject: string,
  ask: (network: EvmNetwork) => Promise<Result>,
): Promise<Result> => patiently(blockchain, subject, () => chains.network(blockchain).then(ask))

/** Same as {@link askChain}, for Solana. */
export const askSolana = <Result>(
  { chains: { solana } }: Pick<ServiceDeps, 'chains'>,
  blockchain: SolanaBlockchain,
  subject: string,
  ask: (network: SolanaNetwork) => Promise<Result>,
): Promise<Result> => patiently(blockchain, subject, () => solana.network(blockchain).then(ask))

async function patiently<Result>(blockchain: string, subject: string, ask: () => Promise<Result>): Promise<Result> {
  const tooLong = async () => {
    await delay(CHAIN_PATIENCE_MS, undefined, { ref: false })
    throw new Error(`${blockchain} did not respond within ${CHAIN_PATIENCE_MS / 1000} s`)
  }
  try {
    return await Promise.race([ask(), tooLong()])
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
