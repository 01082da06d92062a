import { existsSync } from 'node:fs'
import { statePath, withState } from './open-state.ts'
import { markBurned } from './row-outcomes.ts'

/**
 * Records that NFTs were burned, so that runs on this machine count them.
 *
 * @throws GdnError `data_dir`
 */
export async function storeBurned(stateDir: string, nfts: readonly string[]): Promise<void> {
  if (nfts.length === 0 || !existsSync(statePath(stateDir))) return
  await withState(stateDir, (state) =>
    state.write((sql) => {
      for (const nft of nfts) markBurned(sql, nft)
    }),
  )
}
