import { expect, test } from 'vitest'
import { waitForCollection, waitForNfts, waitForTransfer } from '../../src/operations/waiting.ts'

const WAITING = { status: 'initiated', pending_reason: '0.003 POL is missing' }

/** A server on which nothing gets final. */
const ANSWERS: Record<string, object> = {
  getnfts: {
    nfts: [
      { nft_gdn_id: 'a', ...WAITING },
      { nft_gdn_id: 'b', status: 'initiated' },
    ],
  },
  getcollections: { collections: [{ transaction_gdn_ids: 'c', ...WAITING }] },
  gettransactions: { transactions: [{ transaction_gdn_id: 't', ...WAITING }] },
}
const deps = {
  client: { call: async (name: string) => ANSWERS[name], supports: () => true } as never,
  signal: new AbortController().signal,
  sleep: async () => {},
}

test('the error of something pending has the reason of the server in its details', async () => {
  const { problem: ofNfts } = await waitForNfts(deps, ['a', 'b'], { timeoutMs: 0 })
  expect(ofNfts).toMatchObject({
    code: 'pending',
    details: {
      nft_gdn_ids: ['a', 'b'],
      nfts: [
        { nft_gdn_id: 'a', pending_reason: WAITING.pending_reason },
        { nft_gdn_id: 'b', pending_reason: null },
      ],
    },
  })
  const { problem: ofCollection } = await waitForCollection(deps, 'c', 0)
  const { pending_reason } = WAITING
  expect(ofCollection).toMatchObject({ code: 'pending', details: { transaction_gdn_id: 'c', pending_reason } })
  const transfer = { nftGdnId: 'a', sender: '0x1', receiver: '0x2', transactionId: 't' }
  const { problem: ofTransfer } = await waitForTransfer(deps, transfer, 0)
  expect(ofTransfer).toMatchObject({ code: 'pending', details: { nft_gdn_id: 'a', pending_reason } })
})
