import type { NftRecord } from '../../api/nft-record.ts'

const EVM_LENGTH = 42

/**
 * Converts EVM addresses to lower case, because their case may be a checksum. Addresses of other blockchains don't
 * begin with `0x` and are unchanged.
 */
export function addressKey(address: string): string {
  return address.length === EVM_LENGTH && address.startsWith('0x') ? address.toLowerCase() : address
}

/** Returns the current owner of an NFT; null if the server doesn't know it yet. */
export const currentOwnerOf = ({
  receiver_wallet_address: owner,
}: Pick<NftRecord, 'receiver_wallet_address'>): string | null => (owner ? addressKey(owner) : null)

/**
 * Returns the possible owners of an NFT before any transfer: its receiver, and its sender if it is minted to a sender.
 */
export function ownersOf({ receiver, sender }: { receiver: string; sender: string | null }): string[] {
  return [...new Set([receiver, sender ?? receiver].map(addressKey))]
}
