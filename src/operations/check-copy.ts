import type { ApiClient } from '../client/api-client.ts'
import { GdnError } from '../core/errors.ts'
import { copiedState, enterContents, lookAlikes, markCompared, uncompared } from '../state/compared-collections.ts'
import type { State } from '../state/open-state.ts'
import type { OperationName } from '../state/operations.ts'
import { metadataHash } from './reconcile/content.ts'
import { listIds, readPages } from './reconcile/listing.ts'

interface CheckDeps {
  state: State
  client: Pick<ApiClient, 'call'>
  signal: AbortSignal
  onEvent(
    event: { type: 'copied'; reason: string } | { type: 'looking'; ids: number; ofIds: number },
  ): Promise<void> | void
}

/**
 * Rejects a mint if the state is a copy and the collection has NFTs with the same content that belong to no operation.
 * They may have been minted after the state was copied.
 *
 * @throws GdnError `seems_minted`
 */
export async function refuseLookAlikes(
  { state, client, signal, onEvent }: CheckDeps,
  { collectionId, request, name }: { collectionId: number; request: object; name: OperationName },
): Promise<void> {
  const copied = await state.read((sql) => copiedState(sql, collectionId), signal)
  const { contract, blockchain } = name
  if (copied === null || contract === null || blockchain === null) return
  if (!copied.isCompared) {
    await onEvent({ type: 'copied', reason: copied.reason })
    const listed = await listIds({ client, signal }, { contractAddress: contract, blockchain })
    const unread = await state.read((sql) => uncompared(sql, collectionId, listed), signal)
    for await (const { nfts, done } of readPages({ client, signal }, unread)) {
      const contents = nfts.map((nft): [string, string] => [nft.nft_gdn_id, metadataHash(nft.request_metadata)])
      await state.write((sql) => enterContents(sql, collectionId, contents), signal)
      await onEvent({ type: 'looking', ids: done, ofIds: unread.length })
    }
    await state.write((sql) => markCompared(sql, collectionId, copied.epoch), signal)
  }
  const { metadata } = request as { metadata: readonly unknown[] }
  const alike = await state.read((sql) => lookAlikes(sql, collectionId, metadata.map(metadataHash)), signal)
  if (alike.length === 0) return
  const shown = `${alike.slice(0, 5).join(', ')}${alike.length > 5 ? ', …' : ''}`
  throw new GdnError('seems_minted', `the collection already has NFTs with this content: ${shown}`, {
    hint: [
      `The state directory may be a copy (${copied.reason}), so an earlier command may have minted these NFTs.`,
      'Nothing was sent. To mint another NFT, add --again.',
    ].join('\n'),
    details: { nft_gdn_ids: alike },
  })
}
