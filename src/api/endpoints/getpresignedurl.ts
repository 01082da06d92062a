import * as z from 'zod'
import { defineEndpoint } from '../endpoint.ts'

export const MAX_SIGNED_URL_MINUTES = 10_080

export const getpresignedurl = defineEndpoint({
  name: 'getpresignedurl',
  summary: 'Get a temporary signed URL for wallet generation',
  tag: 'Wallets',
  permissions: ['wallet:create'],
  errorForm: 'B',
  request: z.strictObject({
    email: z.email().max(254, { error: 'must have at most 254 characters' }),
    /** Time in minutes for which the URL is valid. */
    timeout: z.int().min(1).max(MAX_SIGNED_URL_MINUTES).optional(),
  }),
  response: z.looseObject({
    request: z.looseObject({ email: z.string(), timeout: z.number().nullish() }),
    response: z.looseObject({ url: z.url() }),
  }),
  example: {
    request: { email: 'artist@example.com', timeout: 60 },
    response: {
      request: { email: 'artist@example.com', timeout: 60 },
      response: {
        url: 'https://wallet.example.com/v1/wallet/create?expiry=1770000000&issued_at=1769996400&action=generate_wallet&issuer=artist%40example.com&signature=0f1e2d3c',
      },
    },
  },
})

/** The response to a POST to the signed URL, which needs no API key (API reference v1.1, generate wallet address). */
export const generatedWalletSchema = z.looseObject({
  request: z.looseObject({
    expiry: z.int(),
    issued_at: z.int(),
    action: z.string(),
    issuer: z.string(),
    // Empty in gdn's response, because the reference doesn't specify the value.
    signature: z.string().nullish(),
  }),
  wallet: z.looseObject({ address: z.string(), private_key: z.string() }),
})

/** Path of the signed URL on the wallet host. */
export const WALLET_CREATE_PATH = '/v1/wallet/create'
