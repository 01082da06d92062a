import { type Blockchain, chainIdOf, isBlockchain, isEvm } from '../../api/blockchains.ts'
import { GdnError, type Place } from '../../core/errors.ts'
import type { GdnCommand } from '../command.ts'
import { safe } from '../io/io.ts'

/** Flags of commands that resolve ENS names. */
export interface EnsFlags {
  /** Whether names may be resolved through gateways (CCIP-Read). `--no-ccip` sets this to false. */
  ccip?: boolean | undefined
}

/** Adds `--no-ccip`. */
export function addEnsFlags(command: GdnCommand, group?: string): GdnCommand {
  return command.switchFlag('--no-ccip', 'Reject ENS names that are resolved through gateways (CCIP-Read)', group)
}

/** The network for which a name is resolved. */
export interface NameNetwork {
  name: Blockchain
  chainId: number
}

/** @throws GdnError `usage` for a blockchain that is unknown, isn't EVM, or has an unknown chain ID */
export function toNameNetwork(name: string, blockchain: unknown, place: Place): NameNetwork {
  const nameNetworkError = (message: string, hint: string) => new GdnError('usage', message, { place, hint })
  if (typeof blockchain !== 'string' || !isBlockchain(blockchain)) {
    throw nameNetworkError(
      `${safe(name)} can't be resolved without a blockchain, because a name can have a different address on each network`,
      'Add --blockchain <name>, or use the address.',
    )
  }
  if (!isEvm(blockchain)) {
    throw nameNetworkError(
      `${safe(name)} is an ENS name, which gdn resolves for EVM blockchains only`,
      `Use a ${blockchain} address.`,
    )
  }
  const chainId = chainIdOf(blockchain)
  if (chainId !== null) return { name: blockchain, chainId }
  throw nameNetworkError(
    `${safe(name)} can't be resolved for ${blockchain}, because its chain ID is unknown`,
    'Use the address.',
  )
}

/**
 * Checks an ENS name, which a later step resolves. Returns the normalized name.
 *
 * @throws GdnError `usage` if the name is invalid or the blockchain isn't EVM
 */
export async function normalizeEnsName(
  name: string,
  place: Place,
  blockchain?: Blockchain | undefined,
): Promise<string> {
  const { normalizeName } = await import('../../ens/normalize-name.ts')
  const normalized = normalizeName(name, place)
  if (blockchain !== undefined) toNameNetwork(normalized, blockchain, place)
  return normalized
}
