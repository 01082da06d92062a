import type { Blockchain } from '../../api/blockchains.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS, SHUFFLE_ERRORS } from '../../api/headers.ts'
import { computeSeal } from '../../api/provenance-seal.ts'
import { count } from '../../core/count.ts'
import type { CollectionRow } from '../store/collections.ts'
import { lockUntilCommit } from '../store/dialect.ts'
import { countUnfinalNftsWithUrl } from '../store/drop-nfts.ts'
import type { Db } from '../store/schema.ts'
import { listCommitmentTerms } from '../store/updates.ts'
import { badRequestError, Refusal } from './refusals.ts'
import { readChainState } from './rights.ts'
import type { ServiceDeps } from './services.ts'

/** The metadata keys of an NFT that is minted for a drop: the file with the drop's leaves, and the NFT's slot. */
const [LEAVES, SLOT] = ['provenance', 'provenance_row'] as const

interface Metadata {
  file_fields: readonly { key: string; url: string }[]
  [extra: string]: unknown
}

/**
 * Locks the seals of a collection until the commit. A seal and a mint of the same drop wait for each other, because
 * each reads what the other writes. Mints don't wait for each other.
 */
const lockSeals = (db: Db, collectionId: string, mode: 'alone' | 'shared') =>
  lockUntilCommit(db, `seal ${collectionId}`, mode)

/**
 * Rejects new NFTs of a sealed drop, in the transaction that adds them. Queries the database only if an NFT refers to a
 * leaves file.
 *
 * @throws Refusal 409
 */
export async function refuseSealed(db: Db, collectionId: string, metadata: readonly Metadata[]): Promise<void> {
  const leavesUrls = new Set(
    metadata.flatMap(({ [SLOT]: slot, file_fields: files }) =>
      slot === undefined ? [] : (files.find(({ key }) => key === LEAVES)?.url ?? []),
    ),
  )
  if (leavesUrls.size === 0) return
  await lockSeals(db, collectionId, 'shared')
  const terms = await listCommitmentTerms(db, collectionId)
  const sealed = terms.find(({ leaves_url }) => leaves_url !== undefined && leavesUrls.has(leaves_url))
  if (sealed === undefined) return
  throw conflictError(
    SHUFFLE_ERRORS.sealed,
    `the drop of the leaves file ${sealed.leaves_url} is sealed, so no more NFTs of the drop can be minted; nothing was accepted`,
  )
}

/**
 * Checks, in the transaction of a seal, that the drop can be sealed.
 *
 * @throws Refusal 400, or 409 while an NFT of the drop is pending or not final
 */
export async function refuseUnlessSealable(
  db: Db,
  { collectionId, blockchain }: { collectionId: string; blockchain: Blockchain },
  { seal_of, leaves_url }: { seal_of: string; leaves_url: string },
): Promise<void> {
  await lockSeals(db, collectionId, 'alone')
  const terms = await listCommitmentTerms(db, collectionId)
  const drop = terms.find(({ provenance, shuffle_margin }) => provenance === seal_of && shuffle_margin !== undefined)
  if (drop?.status !== 'deployed')
    throw badRequestError(`the collection is not committed to the shuffled drop ${seal_of}`)
  const unfinal = await countUnfinalNftsWithUrl(db, { collectionId, blockchain, url: leaves_url })
  if (unfinal === 0) return
  const are = unfinal === 1 ? 'is' : 'are'
  throw conflictError(
    SHUFFLE_ERRORS.notFinal,
    `${count(unfinal, 'NFT')} of the drop ${are} pending or not final yet; nothing was accepted`,
  )
}

/**
 * Rejects a hash that isn't the seal of the named drop. Also rejects the seal of a drop if the request doesn't name the
 * drop.
 */
export async function refuseOtherSeal(
  db: Db,
  collectionId: string,
  provenance: string,
  sealed: string | undefined,
): Promise<void> {
  if (sealed !== undefined) {
    if (computeSeal(sealed) !== provenance) throw badRequestError('provenance is not the seal of the drop in seal_of')
    return
  }
  const drops = await listCommitmentTerms(db, collectionId)
  const drop = drops.find((candidate) => computeSeal(candidate.provenance) === provenance)
  if (drop !== undefined)
    throw badRequestError(`provenance seals the drop ${drop.provenance}: add seal_of and leaves_url`)
}

/**
 * Rejects a margin that is shorter than the time until finality, because a reorg could still change the time of the
 * seal's block.
 */
export async function refuseShortMargin(deps: ServiceDeps, collection: CollectionRow, margin: number): Promise<void> {
  const finality = await readChainState(
    deps,
    collection,
    'the finality',
    async (facts) => await facts.readFinalitySeconds?.(),
  )
  if (finality == null || margin >= finality) return
  throw badRequestError(
    `shuffle_margin is ${margin} s, but the newest blocks of ${collection.blockchain} took ${finality} s to become final`,
  )
}

const conflictError = (code: string, message: string) =>
  new Refusal(409, ERROR_TITLES.conflict, message, { [HEADERS.errorCode]: code })
