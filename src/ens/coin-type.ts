import { toCoinType } from 'viem/ens'

/** The coin type of Ethereum (SLIP-44). */
export const ETHEREUM_COIN_TYPE = 60n
/** The coin type of the default record for all EVM networks (ENSIP-19). */
export const DEFAULT_EVM_COIN_TYPE = 0x80000000n

/**
 * Returns the coin type of the address record for an EVM network (ENSIP-11). The coin type is 60 for Ethereum, and
 * otherwise the chain ID with the highest of 32 bits set. Testnets count as separate networks and never use the record
 * of their mainnet. Returns null if the chain ID is too large to have a record.
 */
export function computeCoinType(chainId: number): bigint | null {
  return chainId > 0 && chainId < 0x80000000 ? toCoinType(chainId) : null
}
