import { expect, it } from 'vitest'
import { setOwner } from '../../../src/server/store/nfts.ts'
import { applyEvents, undoEvents } from '../../../src/server/store/owner-events.ts'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  settled,
  startTestBackend,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'

const [ALICE, BOB, CAROL] = WALLETS

it('keeps the owner set by a transfer when events of earlier blocks are read later', async () => {
  const dir = await freshDataDir()
  const backend = await startTestBackend(dir.path)
  const collection = await createTestCollection(backend)
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
  await backend.close()
  await withStore(dir.path, async ({ db }) => {
    const id = String(nft?.nft_gdn_id)
    const row = await db.selectFrom('nfts').select('collection_id').where('id', '=', id).executeTakeFirstOrThrow()
    const owner = async () =>
      (await db.selectFrom('nfts').select('owner').where('id', '=', id).executeTakeFirstOrThrow()).owner
    const moved = (block_number: number, previous: string, next: string) => ({
      ...{ blockchain: 'polygon' as const, block_number, log_index: 0, transaction_hash: `0x${block_number}` },
      ...{ collection_id: row.collection_id, kind: 'transfer' as const, token_id: '1', previous, next },
    })
    await setOwner(db, id, CAROL, 1010)
    await applyEvents(db, [moved(1009, ALICE, BOB)])
    expect(await owner()).toBe(CAROL)
    await applyEvents(db, [moved(1010, BOB, CAROL), moved(1011, CAROL, ALICE)])
    expect(await owner()).toBe(ALICE)
    await undoEvents(db, 'polygon', 1009)
    expect(await owner()).toBe(BOB)
  })
  await dir.remove()
})
