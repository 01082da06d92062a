import { addressProblem } from '../api/address.ts'
import { GdnError } from '../core/errors.ts'
import { hidePrivateKey } from '../core/quoted.ts'
import { checkMarkerKey } from './rows/marker.ts'
import type { BatchOptions } from './types.ts'

/** @throws GdnError `usage` if the contract address, the chunk size or the marker's key is invalid */
export function checkOptions({
  contractAddress,
  blockchain,
  chunkSize = 1,
  inFlight = 1,
  markerKey,
}: BatchOptions): void {
  checkMarkerKey(markerKey)
  const problem = addressProblem(contractAddress, blockchain)
  if (problem !== null) {
    throw new GdnError('usage', `the contract address ${hidePrivateKey(contractAddress)} ${problem}`, {
      place: { flag: '--contract' },
    })
  }
  if (!Number.isSafeInteger(chunkSize) || chunkSize < 1) {
    throw new GdnError('usage', 'the chunk size must be a whole number of at least 1', {
      place: { flag: '--chunk-size' },
    })
  }
  if (!Number.isSafeInteger(inFlight) || inFlight < 1) throw new Error('inFlight must be a whole number of at least 1')
}
