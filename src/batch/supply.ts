import { HEADERS, SUPPLY_ERRORS } from '../api/headers.ts'
import type { Sent } from '../client/outcome.ts'
import { count } from '../core/count.ts'
import { GdnError } from '../core/errors.ts'
import type { BatchClient, BatchOptions } from './types.ts'

type Target = Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'manifestPath' | 'signal'>

/**
 * Refuses rows that exceed the maximum supply of their collection. The server refuses them too, but some time after
 * other rows of the run were minted.
 *
 * @param rows number of rows to mint, without those that the server has accepted
 * @param accepted returns how many of the rows the server may have accepted, because their outcome is unknown
 * @throws GdnError `refused`
 */
export async function refuseBeyondSupply(
  client: Pick<BatchClient, 'call' | 'learnIdempotency' | 'supports'>,
  { contractAddress: contract_address, blockchain, manifestPath, signal }: Target,
  rows: number,
  accepted: () => Promise<number> = async () => 0,
): Promise<void> {
  if (rows === 0) return
  if (client.supports('maxSupply') === null) await client.learnIdempotency({ signal })
  if (client.supports('maxSupply') !== true) return
  const supply = await client.call('getsupply', { contract_address, blockchain }, { signal })
  const { left, max_supply } = supply
  if (left === null || rows <= left) return
  const toMint = rows - (await accepted())
  if (toMint <= left) return
  const used = `${supply.minted} minted and ${supply.accepted} accepted`
  const most = left === 0 ? 'none is left' : `only ${left} ${left === 1 ? 'is' : 'are'} left`
  throw new GdnError(
    'refused',
    `${count(toMint, 'row')} to mint, but ${most} of the collection's maximum supply of ${max_supply} (${used})`,
    {
      place: manifestPath === null ? {} : { file: manifestPath },
      hint: 'Nothing was sent. Remove rows from the manifest, or mint them in another collection.',
    },
  )
}

/**
 * Returns how many rows of a refused request fit into the maximum supply of their collection, which other machines use
 * up as well. Returns 0 if none do, or if the request was refused for another reason.
 */
export async function rowsThatFit(
  client: Pick<BatchClient, 'call'>,
  { contractAddress: contract_address, blockchain, signal }: Target,
  sent: Sent,
  rows: number,
): Promise<number> {
  if (sent.kind !== 'answered' || sent.headers[HEADERS.errorCode] !== SUPPLY_ERRORS.maxSupply) return 0
  const { left } = await client.call('getsupply', { contract_address, blockchain }, { signal })
  // NFTs that failed since may leave more, so that the request gets smaller in any case.
  return Math.min(left ?? 0, rows - 1)
}
