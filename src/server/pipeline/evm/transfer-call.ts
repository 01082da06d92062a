import { encodeTransfer } from '../../chain/evm/collection.ts'
import { encodeBurn } from '../../chain/evm/collection-updates.ts'
import { BURN_GAS_LIMIT, TRANSFER_GAS_LIMIT } from '../../chain/evm/gas-limits.ts'
import type { Hex } from '../../chain/evm/network.ts'
import type { TransferKind } from '../../store/schema.ts'

interface Transfer {
  id: string
  kind: TransferKind
  sender: string
  receiver: string
  token_id: string | null
  contract_address: string
}

/** Returns the contract call that transfers or burns a token. */
export function transferCall({ id, kind, sender, receiver, token_id, contract_address }: Transfer) {
  if (token_id === null) throw new Error(`the NFT of transfer ${id} has no token`)
  const [to, tokenId] = [contract_address as Hex, BigInt(token_id)]
  if (kind === 'burn') return { to, data: encodeBurn({ holder: sender as Hex, tokenId }), gas: BURN_GAS_LIMIT }
  return {
    to,
    data: encodeTransfer({ from: sender as Hex, to: receiver as Hex, tokenId }),
    gas: TRANSFER_GAS_LIMIT,
  }
}
