import type { UnsignedChange } from '../../../store/run-costs.ts'
import {
  BURN_GAS_LIMIT,
  COMMIT_PROVENANCE_GAS_LIMIT,
  freezeGasLimit,
  makeGasLimit,
  TRANSFER_GAS_LIMIT,
  updateGasLimit,
} from '../gas-limits.ts'
import { type DropGas, ENVELOPE_BYTES } from './drop-gas.ts'

const WORD_BYTES = 32
/** Upper bound for the selector, offsets, lengths and scalar arguments of any call. */
const HEAD_BYTES = 4 + 13 * WORD_BYTES

type Facts = Pick<UnsignedChange, 'kind' | 'tokenIds'> & {
  /** The collection to deploy. */
  collection?: { name: string; symbol: string; royalty_bps: number } | null
}

/**
 * Returns the maximum gas and bytes of a change that is sent in a separate transaction. A change that shares a
 * transaction uses less.
 */
export function computeMaxChangeGas(change: Facts): Pick<DropGas, 'gasLimit' | 'bytes'> {
  const { name = '', symbol = '' } = change.collection ?? {}
  const texts = Buffer.byteLength(name) + Buffer.byteLength(symbol)
  return {
    gasLimit: computeGasLimit(change),
    bytes: ENVELOPE_BYTES + HEAD_BYTES + 2 * WORD_BYTES * change.tokenIds.length + texts,
  }
}

function computeGasLimit({ kind, tokenIds, collection }: Facts): bigint {
  switch (kind) {
    case 'transfer':
      return TRANSFER_GAS_LIMIT
    case 'burn':
      return BURN_GAS_LIMIT
    case 'provenance':
      return COMMIT_PROVENANCE_GAS_LIMIT
    case 'freeze':
      return freezeGasLimit(tokenIds)
    case 'update':
      return updateGasLimit(tokenIds)
    case 'collection': {
      if (!collection) throw new Error('a collection has no name')
      const { name, symbol, royalty_bps } = collection
      return makeGasLimit({ name, symbol, royaltyBps: BigInt(royalty_bps) })
    }
  }
}
