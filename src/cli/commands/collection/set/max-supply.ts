import { count } from '../../../../core/count.ts'
import { flagError, GdnError } from '../../../../core/errors.ts'
import type { OwnerSettings } from '../../../../server/chain/evm/owner/settings.ts'
import type { Connection, Deps } from '../../../deps.ts'

const MAX_SUPPLY_FLAG = '--max-supply'

/**
 * Returns the maximum supply to set; null if nothing changes.
 *
 * @throws GdnError `usage` if the limit would be raised, or is lower than the number of minted or accepted NFTs
 */
export function maxSupplyChange(
  newMaximum: number | undefined,
  { maxSupply, minted }: Pick<OwnerSettings, 'maxSupply' | 'minted'>,
  accepted: number,
): number | null {
  if (newMaximum === undefined || BigInt(newMaximum) === maxSupply) return null
  const used = Number(minted) + accepted
  if (maxSupply !== null && BigInt(newMaximum) > maxSupply) {
    const fix =
      maxSupply > BigInt(used)
        ? 'Use a lower number.'
        : `All ${maxSupply} NFTs are minted or accepted, so the maximum can't be lowered.`
    throw flagError(MAX_SUPPLY_FLAG, `can only be lowered, and is ${maxSupply} now`, `Nothing was sent. ${fix}`)
  }
  if (newMaximum >= used) return newMaximum
  const burned = `${count(Number(minted), 'NFT')} ${minted === 1n ? 'was' : 'were'} minted, including burned ones`
  const pending = accepted === 0 ? '' : `, and ${accepted} more ${accepted === 1 ? 'was' : 'were'} accepted`
  throw flagError(
    MAX_SUPPLY_FLAG,
    `can't be ${newMaximum}: ${burned}${pending}`,
    `Nothing was sent. Use ${used} or more.`,
  )
}

/**
 * Returns the number of NFTs that the server has accepted but not minted; null if no server returns it. In any case,
 * the contract compares the limit with the number of minted NFTs.
 */
export async function acceptedNfts(
  { io, signals: { signal } }: Deps,
  connect: () => Promise<Connection>,
  { contract: contract_address, blockchain }: { contract: string; blockchain: string },
): Promise<number | null> {
  try {
    const { client } = await connect()
    if (client.supports('maxSupply') === null) await client.learnCapabilities({ signal })
    if (client.supports('maxSupply') === true) {
      return (await client.call('getsupply', { contract_address, blockchain }, { signal })).accepted
    }
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
    io.debug(`can't read the accepted NFTs: ${error.message}`)
  }
  return null
}
