import * as z from 'zod'
import { checkAddresses } from '../check-addresses.ts'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema } from '../fields.ts'

/** A hash that a collection has committed to. */
export const provenanceRecordSchema = z.looseObject({
  provenance: z.string(),
  /** ID of the first token that is minted after the commitment; null while the commitment is pending. */
  first_token_id: z.string().nullable(),
  status: z.string(),
  transaction_gdn_id: z.string(),
  /** Hash of the transaction; null while the commitment is pending, or if the backend didn't send the transaction. */
  transaction_hash: z.string().nullable(),
  block_number: z.number().nullable(),
  /** The reference ID of the request that made the commitment; null if the request had none. */
  reference_id: z.string().nullish(),
  /** Whether the commitment is final, so that no reorg can remove it. */
  is_final: z.boolean().nullish(),
  /** The margin of a shuffled drop in seconds; null for other commitments. */
  shuffle_margin: z.number().nullish(),
  /** The hash of the drop that this commitment seals; null for other commitments. */
  seal_of: z.string().nullish(),
  /** The URL of the leaves file of the drop that this commitment seals; null for other commitments. */
  leaves_url: z.string().nullish(),
})

export type ProvenanceRecord = z.output<typeof provenanceRecordSchema>

const EXAMPLE = { contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }

export const getprovenances = defineEndpoint({
  name: 'getprovenances',
  summary: 'Get the provenance hashes of a collection',
  tag: 'Collections',
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({ contract_address: addressSchema }).check(checkAddresses('contract_address')),
  response: z.looseObject({
    requests: z.looseObject({ contract_address: z.string() }),
    provenances: z.array(provenanceRecordSchema),
  }),
  example: exampleOf(EXAMPLE, {
    provenances: [
      {
        provenance: '0xf2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2',
        first_token_id: '1',
        status: 'deployed',
        transaction_gdn_id: '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
        transaction_hash: '0x3f1c9a2b7d8e4f5061728394a5b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e',
        block_number: 65231877,
        reference_id: 'provenance-1',
        is_final: true,
        shuffle_margin: null,
        seal_of: null,
        leaves_url: null,
      },
    ],
  }),
})
