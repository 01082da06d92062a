import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS, REFERENCE_ERRORS } from '../../api/headers.ts'
import { type ContentReference, findContentReferences, setAlias } from '../store/references.ts'
import { findOwnCollection } from './find-own-collection.ts'
import { claimReferences, refuseLabelConflicts, refuseRepeated, toReferenceScope } from './references.ts'
import { badRequestError, Refusal } from './refusals.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/**
 * Adds aliases to NFTs. An alias is a second reference ID, derived from the ID that the row got after the mint.
 * Repeating the request has no effect. Each NFT can have only one alias, which never changes, so that two rows can't
 * refer to the same NFT.
 *
 * @throws Refusal 400 if an NFT isn't in the collection or was minted with an ID; 409 if a reference ID refers to
 *   another NFT, or if an NFT has another alias or label. In these cases, nothing is changed.
 */
export async function aliasReferences(
  { store }: Pick<ServiceDeps, 'store'>,
  { accountId, parsed, body }: RequestOf<'aliasreferences'>,
) {
  const {
    operation,
    contract_address: contractAddress,
    blockchain,
    reference_ids,
    nft_gdn_ids,
    reference_label,
  } = parsed
  refuseRepeated(reference_ids)
  const collection = await findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  const scope = toReferenceScope(collection.id, operation)
  const aliased = await store.transaction(async (db) => {
    const references = await findContentReferences(db, scope, nft_gdn_ids)
    const byNft = new Map(references.map((reference) => [reference.target_id, reference]))
    const aliases = nft_gdn_ids.map((nft, index) => {
      const content = byNft.get(nft)
      byNft.delete(nft)
      if (content === undefined) throw noContentReferenceError(index)
      return { index, alias: reference_ids[index] ?? '', content }
    })
    refuseLabelConflicts(
      scope,
      aliases.map(({ content: { reference_id } }) => ({ reference_id, label: reference_label ?? null })),
      new Map(
        references.map((reference) => [
          reference.reference_id,
          { ...reference, status: '', accepted_at: 0, isFree: false },
        ]),
      ),
    )
    const existing = await claimReferences(
      db,
      scope,
      aliases.map(({ alias, content: { digest, target_id, label } }) => ({
        reference_id: alias,
        digest,
        target_id,
        label,
        kind: 'id' as const,
      })),
    )
    for (const { index, alias, content } of sortByReferenceId(aliases)) {
      // `claimReferences` compares only digests, so it also accepts a reference ID of another NFT with the same
      // content.
      const { target_id: aliasTarget = content.target_id } = existing.get(alias) ?? {}
      if (aliasTarget !== content.target_id)
        throw conflictError(`reference_ids[${index}] "${alias}" identifies the NFT ${aliasTarget}`)
      if (await setAlias(db, scope, content, alias)) continue
      throw conflictError(`nft_gdn_ids[${index}] ${content.target_id} already has an alias other than "${alias}"`)
    }
    return aliases.length - existing.size
  })
  return { requests: { ...body, reference_ids: body.reference_ids, nft_gdn_ids: body.nft_gdn_ids }, aliased }
}

const noContentReferenceError = (index: number) =>
  badRequestError(
    `nft_gdn_ids[${index}] is repeated, is not an NFT of this collection, or has a reference ID that was not derived from content`,
  )

const conflictError = (message: string) =>
  new Refusal(409, ERROR_TITLES.conflict, `${message}; nothing was changed`, {
    [HEADERS.errorCode]: REFERENCE_ERRORS.conflict,
  })

/** Sorts references by ID, so that two processes can't deadlock. */
const sortByReferenceId = <One extends { content: ContentReference }>(aliases: readonly One[]): One[] =>
  [...aliases].sort((a, b) => (a.content.reference_id < b.content.reference_id ? -1 : 1))
