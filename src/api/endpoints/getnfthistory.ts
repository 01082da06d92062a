import * as z from 'zod'
import { defineEndpoint, exampleOf } from '../endpoint.ts'
import { NFT_STATUSES, nftGdnIdSchema } from '../nft-record.ts'

/** Maximum number of events in one response. */
export const MAX_EVENTS_PER_REQUEST = 100
/** Maximum number of listed changes of one event. */
export const MAX_CHANGES_PER_EVENT = 100
/** Maximum number of characters of a field name or value in a change. */
export const MAX_CHANGE_LENGTH = 500

export const HISTORY_KINDS = ['mint', 'transfer', 'update', 'freeze', 'burn'] as const

const nullableTextSchema = z.string().nullable()

/** An event in the history of an NFT. */
export const historyRecordSchema = z.looseObject({
  kind: z.enum(HISTORY_KINDS),
  status: z.enum(NFT_STATUSES),
  /** ID of the event's request; null for the mint and for events outside of the service. */
  transaction_gdn_id: nullableTextSchema,
  /** Time when the service accepted the request; null for events outside of the service. */
  accepted_date: nullableTextSchema,
  /** The time of the event's block; null if the event isn't in a block yet or the blockchain doesn't respond. */
  block_date: nullableTextSchema,
  /** Number of the event's block. On Solana, this is the slot. */
  block_number: z.number().nullable(),
  transaction_hash: nullableTextSchema,
  /** The owners before and after the event; null if the event doesn't change the owner. */
  from: nullableTextSchema,
  to: nullableTextSchema,
  /** The metadata revision that an update created. */
  revision: z.number().nullable(),
  /**
   * Maximum number of changes that are listed for one event. `before` and `after` are truncated to `MAX_CHANGE_LENGTH`.
   */
  changes: z
    .array(z.looseObject({ field: z.string(), before: nullableTextSchema, after: nullableTextSchema }))
    .nullable(),
  /** Number of further changes. Only the first `MAX_CHANGES_PER_EVENT` are listed. */
  changes_left_out: z.number(),
  error: nullableTextSchema,
  /**
   * For a mint: the gas used and the fee paid, in wei. If the transaction minted several NFTs, both are this NFT's
   * share. Absent for other events.
   */
  gas_used: z.string().nullish(),
  fee_paid: z.string().nullish(),
  currency: z.string().nullish(),
  is_simulated: z.boolean().nullish(),
  /** The transaction's page on a block explorer, if the network's configuration specifies one. */
  explorer_url: z.string().nullish(),
})

const EXAMPLE = { nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', offset: 1 }

export const getnfthistory = defineEndpoint({
  name: 'getnfthistory',
  summary: "Read an NFT's history",
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({
    nft_gdn_id: nftGdnIdSchema,
    /** Number of events to skip, starting at the oldest. */
    offset: z.int().min(0).max(1_000_000_000).optional(),
    limit: z.int().min(1).max(MAX_EVENTS_PER_REQUEST).optional(),
  }),
  response: z.looseObject({
    requests: z.looseObject({ nft_gdn_id: z.string() }),
    /** The events, oldest first. Pending events are at the end. */
    events: z.array(historyRecordSchema),
    /** The offset of the next page; null on the last page. */
    next_offset: z.number().nullable(),
  }),
  example: exampleOf(EXAMPLE, {
    events: [
      {
        kind: 'update' as const,
        status: 'deployed' as const,
        transaction_gdn_id: '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
        accepted_date: '2026-01-31 12:00:00',
        block_date: '2026-01-31 12:00:04',
        block_number: 1289,
        transaction_hash: '0x4c3f7d9e0b1a2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5',
        from: null,
        to: null,
        revision: 1,
        changes: [{ field: 'title', before: 'Dawn', after: 'Dusk' }],
        changes_left_out: 0,
        error: null,
      },
    ],
    next_offset: null,
  }),
})
