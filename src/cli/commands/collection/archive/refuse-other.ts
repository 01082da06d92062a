import type { OpenArchive } from '../../../../archive/read-archive.ts'
import { flagError } from '../../../../core/errors.ts'
import type { ChainContract } from '../chain-contract.ts'

/**
 * Refuses an archive of a different collection.
 *
 * @throws GdnError `usage` at the flag
 */
export function refuseOtherArchive(
  { header }: Pick<OpenArchive, 'header'>,
  { contract, blockchain }: ChainContract,
  { flag, hint }: { flag: string; hint: string },
): void {
  if (header.contract === contract && header.blockchain === blockchain) return
  throw flagError(flag, `is an archive of ${header.contract} on ${header.blockchain}`, hint)
}
