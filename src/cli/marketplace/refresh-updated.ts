import type { Blockchain } from '../../api/blockchains.ts'
import { readNfts } from '../../client/read-records.ts'
import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import { shellWord } from '../../core/shell-word.ts'
import { parseTokenId } from '../../verify/abi.ts'
import type { Connection, Deps } from '../deps.ts'
import type { OpenSeaFlags } from '../flags/opensea.ts'
import { openRefresher } from './refresh.ts'

/** Requests a refresh on OpenSea of the NFTs whose metadata a command changed. */
export interface UpdatedRefresher {
  /**
   * Requests a refresh of NFTs. Must be called after all changes were made.
   *
   * @throws GdnError if a request fails. The message says that the changes were made.
   */
  refresh(connection: Connection, contract: string, nftGdnIds: readonly string[]): Promise<void>
  close(): Promise<void>
}

const MAX_LISTED_NFTS = 20

/** The location of the changed NFTs. */
interface UpdatedNfts {
  settings: Settings
  blockchain: Blockchain
  /** The run's ID or name, which selects all of its NFTs. */
  run: string
}

/** Opens OpenSea's API before anything is sent. @throws GdnError the errors of `openRefresher` */
export async function openUpdatedRefresher(
  deps: Deps,
  flags: OpenSeaFlags,
  { settings, blockchain, run }: UpdatedNfts,
): Promise<UpdatedRefresher> {
  const { io, signals } = deps
  const refresher = await openRefresher(deps, flags, { blockchain, settings })
  return {
    async refresh({ client }, contract, nftGdnIds) {
      const nfts = [...(await readNfts({ client, signal: signals.signal }, nftGdnIds)).values()]
      const tokenIds = nfts.flatMap(({ token_id: id }) => (id != null && parseTokenId(id) !== null ? id : []))
      if (tokenIds.length === 0)
        return io.note('No metadata was changed, so gdn does not request a refresh from OpenSea.')
      const { records, error } = await refresher.refresh(contract, tokenIds)
      if (error === null) return io.note(`OpenSea accepted ${count(records.length, 'refresh request')}.`)
      const notRequested = records.flatMap(({ token_id, status }) => (status === 'requested' ? [] : token_id))
      // The hint may select NFTs that were already refreshed. Another refresh has no effect on them.
      const which = notRequested.length > MAX_LISTED_NFTS ? `--run ${shellWord(run)}` : notRequested.join(' ')
      throw error.with({
        message: `all changes were made, but gdn ${error.message}`,
        hint: `To request the other refreshes, run \`gdn nft refresh ${which} -c ${contract} -b ${blockchain}\`.`,
      })
    },
    close: () => refresher.close(),
  }
}
