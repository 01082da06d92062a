import * as z from 'zod'
import { checkAnyAddresses } from '../check-addresses.ts'
import { REPEAT_LATER_HINT, transactionCreation } from '../creation.ts'
import { defineCreatingEndpoint, exampleOf } from '../endpoint.ts'
import { addressSchema, makeTransactionResponseSchema, oneOrMore, TRANSACTION_EXAMPLE } from '../fields.ts'
import { nftGdnIdSchema } from '../nft-record.ts'
import { referenceIdSchema } from '../reference-id.ts'

/** Maximum number of NFTs in one freezenft request. One transaction can't freeze more. */
export const MAX_FROZEN_PER_REQUEST = 200

function checkRevisions({
  value,
  issues,
}: z.core.ParsePayload<{ nft_gdn_ids: unknown[]; replaces_revisions?: unknown }>) {
  const { nft_gdn_ids, replaces_revisions: revisions } = value
  if (!Array.isArray(revisions) || revisions.length === nft_gdn_ids.length) return
  const message = `must have one revision for each entry of nft_gdn_ids (${nft_gdn_ids.length})`
  issues.push({ code: 'custom', message, path: ['replaces_revisions'], input: revisions })
}

const EXAMPLE = {
  contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  nft_gdn_ids: ['0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
}

export const freezenft = defineCreatingEndpoint({
  name: 'freezenft',
  summary: 'Freeze the metadata of NFTs permanently',
  origin: 'extension',
  permissions: ['nft:update'],
  creates: {
    ...transactionCreation,
    effect: { in: 'none', reason: "the API can't list freezes" },
    hints: { request: 'You can repeat the request: a frozen NFT stays frozen.', command: REPEAT_LATER_HINT },
  },
  request: z
    .strictObject({
      contract_address: addressSchema,
      nft_gdn_ids: oneOrMore(nftGdnIdSchema, MAX_FROZEN_PER_REQUEST),
      replaces_revisions: z.array(z.int().min(0, { error: 'must be 0 or a revision number' })).optional(),
      reference_id: referenceIdSchema.optional(),
    })
    .check(checkAnyAddresses('contract_address'))
    .check(checkRevisions),
  response: makeTransactionResponseSchema({ contract_address: z.string(), nft_gdn_ids: z.unknown() }),
  example: exampleOf(EXAMPLE, { response: TRANSACTION_EXAMPLE }),
})
