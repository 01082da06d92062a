import { networkOf } from '../../../settings/networks.ts'

/** Returns the symbol of a network's coin; null if it isn't known. */
export const coinOf = (chainId: number): string | null => networkOf(chainId)?.coin ?? null
