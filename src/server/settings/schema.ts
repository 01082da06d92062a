import * as z from 'zod'
import {
  CUSTOM_NAME_PATTERN,
  isBlockchain,
  KNOWN_NAMES,
  SOLANA_BLOCKCHAINS,
  suggestKnownName,
} from '../../api/blockchains.ts'
import { apiVersionSchema } from '../../api/fields.ts'
import { DEFAULT_API_VERSION } from '../../api/versions.ts'
import {
  RATE_LIMIT_DESCRIPTION,
  refuseUnknownHosts,
  requestsPerSecondSchema,
  rpcUrlsSchema,
  secondsSchema,
  testNetworkSchema,
  webUrlSchema,
} from './rpc-schema.ts'
import { remoteSignerSchema, signerSchema } from './signer-schema.ts'
import { solanaChainSchema } from './solana-schema.ts'
import { httpBaseUrlSchema, pinningSchema, storageSchema } from './storage-schema.ts'

const MAX_CONFIRMATIONS = 10_000
const MAX_OPERATORS = 16
/** Maximum number of pending transactions that nodes keep for one account. */
const MAX_MINTS_IN_FLIGHT = 64

const blockDepthSchema = z
  .int({ error: 'must be a whole number of blocks' })
  .min(1, { error: 'must be at least 1 block' })
  .max(MAX_CONFIRMATIONS, { error: `must be at most ${MAX_CONFIRMATIONS} blocks` })

const chainSchema = z
  .strictObject({
    rpc_urls: rpcUrlsSchema,
    requests_per_second: requestsPerSecondSchema.optional().describe(RATE_LIMIT_DESCRIPTION),
    chain_id: z
      .int({ error: 'must be a whole number' })
      .min(1, { error: 'must be at least 1' })
      .optional()
      .describe('Chain ID. Required if the name of the network is unknown'),
    confirmations: blockDepthSchema
      .default(12)
      .describe('Number of confirmations that a transaction needs, including its own block'),
    finality: blockDepthSchema.default(64).describe('Number of blocks after which a transaction is final'),
    poll_seconds: secondsSchema.default(2).describe('Time between polls'),
    stuck_seconds: secondsSchema
      .default(60)
      .describe("Time after which the fees of a signer's oldest pending transaction are raised"),
    max_fee_gwei: z
      .number({ error: 'must be a number of gwei' })
      .gt(0, { error: 'must be above 0' })
      .max(1_000_000, { error: 'must be at most 1000000 gwei' })
      .default(1000)
      .describe('Maximum gas price'),
    mints_in_flight: z
      .int({ error: 'must be a whole number of transactions' })
      .min(1, { error: 'must be at least 1 transaction' })
      .max(MAX_MINTS_IN_FLIGHT, { error: `must be at most ${MAX_MINTS_IN_FLIGHT} transactions` })
      .default(16)
      .describe('Maximum number of pending mint transactions of a collection'),
    block_explorer_url: webUrlSchema.optional().describe('URL of a block explorer'),
    test_network: testNetworkSchema,
    operators: z
      .array(signerSchema)
      .min(1, { error: 'must have at least one signer' })
      .max(MAX_OPERATORS, { error: `must have at most ${MAX_OPERATORS} signers` })
      .describe('Accounts that sign and pay'),
    admin: remoteSignerSchema
      .optional()
      .describe('Admin of the factory, if the key is in a remote signer. Used only by gdn chain setup'),
  })
  .check(refuseUnknownHosts)
  .check((context) => {
    const { confirmations, finality } = context.value
    if (finality >= confirmations) return
    const message = 'must be at least as many blocks as confirmations'
    context.issues.push({ code: 'custom', message, input: finality, path: ['finality'] })
  })

function nameProblem(name: string): string {
  const near = suggestKnownName(name)
  if (near !== null) return `is not a known network, and is too similar to ${near} for a custom name`
  if (/^solana/.test(name)) return `is not a known network: the clusters are ${SOLANA_BLOCKCHAINS.join(' and ')}`
  return 'is not a valid name: use 2 to 40 characters a-z, 0-9 and hyphens between them'
}

const sameSchemaFor = <Name extends string, Schema>(names: readonly Name[], schema: Schema) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>

/**
 * The schema of `backend.yaml`, which configures public networks, PostgreSQL, file storage, the accepted NFT files, and
 * the API version.
 */
export const settingsFileSchema = z.strictObject({
  /** URL of a JSON Schema for editors. It has no effect on the backend. */
  $schema: z.string().optional().describe('The schema of this file, for editors'),
  chains: z
    .object(sameSchemaFor(SOLANA_BLOCKCHAINS, solanaChainSchema.optional().describe('A Solana cluster')))
    /** EVM networks, by a built-in name or a custom one. */
    .catchall(chainSchema)
    .check((context) => {
      for (const name of Object.keys(context.value)) {
        if (isBlockchain(name)) continue
        context.issues.push({ code: 'custom', message: nameProblem(name), input: name, path: [name] })
      }
    })
    .meta({ propertyNames: { anyOf: [{ enum: KNOWN_NAMES }, { pattern: CUSTOM_NAME_PATTERN.source }] } })
    .default({})
    .describe('Public networks by name. Any other blockchain is an embedded chain'),
  storage: storageSchema.default({ kind: 'files' }).describe('Storage for the files of NFTs'),
  pinning: pinningSchema.optional().describe('Service that keeps content on the IPFS network'),
  ipfs_gateway: httpBaseUrlSchema
    .optional()
    .describe("Trustless gateway for ipfs:// files that the backend doesn't store"),
  require_stored_files: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe("Whether to reject NFTs with files that the backend doesn't store"),
  api_version: apiVersionSchema
    .default(DEFAULT_API_VERSION)
    .describe('API version of API keys that specify no version'),
  database_url: z
    .string()
    .min(1)
    .optional()
    .describe('URL of a PostgreSQL database. If the URL has a password, use database_url_file instead'),
  database_url_file: z.string().min(1).optional().describe('Private file that contains the database URL'),
  database_direct_url: z
    .string()
    .min(1)
    .optional()
    .describe('URL that bypasses the pooler of the database, for notifications'),
  database_direct_url_file: z
    .string()
    .min(1)
    .optional()
    .describe('Private file that contains the URL that bypasses the pooler'),
})

export type SettingsFile = z.output<typeof settingsFileSchema>

export type ChainEntry = z.output<typeof chainSchema>
