import type { Blockchain } from '../api/blockchains.ts'
import { openStateIfThere } from '../state/open-state.ts'
import { operationsOf } from '../state/operations.ts'
import { sentMetadata } from './reconcile/content.ts'

/** What the single commands of this machine have to do with a collection. */
export interface KnownOperations {
  /** NFTs that they minted: reconciling leaves them out. */
  ids: string[]
  /** The metadata of operations whose outcome is unknown: an NFT that fits may be one of theirs. */
  open: unknown[]
}

/**
 * Reads both at one time: an operation that is accepted meanwhile must not be missing from either.
 *
 * @param origin as runs know the server
 */
export async function knownOperations(
  stateDir: string,
  { origin, blockchain, contract }: { origin: string; blockchain: Blockchain; contract: string },
): Promise<KnownOperations> {
  const state = await openStateIfThere(stateDir)
  if (state === null) return { ids: [], open: [] }
  try {
    const { ids, openBodies } = await state.read((sql) => operationsOf(sql, { origin, blockchain, contract }))
    return { ids, open: openBodies.flatMap(sentMetadata) }
  } finally {
    state.close()
  }
}
