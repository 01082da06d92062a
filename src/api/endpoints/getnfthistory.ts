import * as z from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { NFT_STATUSES, nftGdnId } from '../nft-record.ts'

/** Maximum number of events in one getnfthistory response. */
export const MAX_EVENTS_PER_REQUEST = 100

export const HISTORY_KINDS = ['mint', 'transfer', 'update', 'freeze', 'burn'] as const

const text = z.string().nullable()

/** One event in the life of an NFT. */
export const historyRecord = z.looseObject({
  kind: z.enum(HISTORY_KINDS),
  status: z.enum(NFT_STATUSES),
  /** Null for the mint, and for events outside of the service. */
  transaction_gdn_id: text,
  /** When the service accepted it; null for an event outside of the service. */
  accepted_date: text,
  /** The time of its block; null while it has none, or if the blockchain doesn't respond. */
  block_date: text,
  /** On Solana the slot. */
  block_number: z.number().nullable(),
  transaction_hash: text,
  /** The owner before and after it; null if the event changes no owner. */
  from: text,
  to: text,
  /** The revision that an update made. */
  revision: z.number().nullable(),
  /** The fields that an update changed, as text of at most 500 characters; null if its metadata isn't known. */
  changes: z.array(z.looseObject({ field: z.string(), before: text, after: text })).nullable(),
  /** Number of further changes, beyond the first 100. */
  changes_left_out: z.number(),
  error: text,
  /**
   * The gas that the mint of this NFT used, and the fee that it paid, in wei. If the transaction minted several NFTs,
   * both are the NFT's share. Absent for other events.
   */
  gas_used: z.string().nullish(),
  fee_paid: z.string().nullish(),
  currency: z.string().nullish(),
  is_simulated: z.boolean().nullish(),
  /** The transaction in a block explorer, on a network whose configuration names one. */
  explorer_url: z.string().nullish(),
})

export const getnfthistory = defineEndpoint({
  name: 'getnfthistory',
  summary: "Read an NFT's history",
  origin: 'extension',
  permissions: ['nft:read'],
  request: z.strictObject({
    nft_gdn_id: nftGdnId,
    /** The number of events to skip, from the first. */
    offset: z.int().min(0).max(1_000_000_000).optional(),
    limit: z.int().min(1).max(MAX_EVENTS_PER_REQUEST).optional(),
  }),
  response: z.looseObject({
    requests: z.looseObject({ nft_gdn_id: z.string() }),
    /** The events, oldest first. Pending events are last. */
    events: z.array(historyRecord),
    /** The offset of the next page; null after the last event. */
    next_offset: z.number().nullable(),
  }),
  example: {
    request: { nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', offset: 1 },
    response: {
      requests: { nft_gdn_id: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d', offset: 1 },
      events: [
        {
          kind: 'update',
          status: 'deployed',
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
    },
  },
})
