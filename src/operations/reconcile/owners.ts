import type { NftRecord } from '../../api/nft-record.ts'

const EVM_LENGTH = 42

/**
 * Lowers EVM addresses, whose case may differ by their checksum. Addresses of other blockchains don't begin with `0x`.
 */
export function addressKey(address: string): string {
  return address.length === EVM_LENGTH && address.startsWith('0x') ? address.toLowerCase() : address
}

/** Returns the present owner of an NFT; null where the server doesn't know it yet. */
export const ownerOf = ({
  receiver_wallet_address: owner,
}: Pick<NftRecord, 'receiver_wallet_address'>): string | null => (owner ? addressKey(owner) : null)

/** The possible owners of an NFT before any transfer: its receiver and, if it is minted to a sender, that sender. */
export function ownersOf({ receiver, sender }: { receiver: string; sender: string | null }): string[] {
  return [...new Set([receiver, sender ?? receiver].map(addressKey))]
}
