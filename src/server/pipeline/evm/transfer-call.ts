import { encodeTransfer } from '../../chain/evm/collection.ts'
import { TRANSFER_GAS_LIMIT } from '../../chain/evm/gas-limits.ts'
import type { Hex } from '../../chain/evm/network.ts'

interface Transfer {
  id: string
  sender: string
  receiver: string
  token_id: string | null
  contract_address: string
}

/** Returns the call of a transfer's transaction. */
export function transferCall({ id, sender, receiver, token_id, contract_address }: Transfer) {
  if (token_id === null) throw new Error(`the NFT of transfer ${id} has no token`)
  return {
    to: contract_address as Hex,
    data: encodeTransfer({ from: sender as Hex, to: receiver as Hex, tokenId: BigInt(token_id) }),
    gas: TRANSFER_GAS_LIMIT,
  }
}
