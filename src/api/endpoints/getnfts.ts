import * as z from 'zod/mini'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { nftGdnIdSchema, nftRecordSchema, renameNftGdnIds } from '../nft-record.ts'

/** Maximum number of IDs in one getnfts request. The CLI splits a longer list into several requests. */
export const MAX_IDS_PER_REQUEST = 1000

const EXAMPLE = { nft_gdn_ids: ['0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'] }

export const getnfts = defineEndpoint({
  name: 'getnfts',
  summary: 'Get details of NFTs',
  permissions: ['nft:read'],
  ratePerSecond: 2,
  validationStatus: 422,
  v12: { validationStatus: 400 },
  request: z.strictObject({
    nft_gdn_ids: z
      .array(nftGdnIdSchema)
      .check(
        z.minLength(1, { error: 'must have at least one ID' }),
        z.maxLength(MAX_IDS_PER_REQUEST, { error: `must have at most ${MAX_IDS_PER_REQUEST} IDs` }),
      ),
  }),
  response: z.looseObject({
    requests: z.looseObject({ nft_gdn_ids: z.array(z.string()) }),
    nfts: z.array(z.pipe(z.transform(renameNftGdnIds), nftRecordSchema)),
  }),
  example: exampleOf(EXAMPLE, {
    nfts: [
      {
        nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
        token_id: '1',
        contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
        receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
        status: 'deployed',
        request_metadata: { title: 'Dawn', description: 'The first of ten', file_fields: [] },
        metadata_url: 'ipfs://bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354/0.json',
      },
    ],
  }),
})
