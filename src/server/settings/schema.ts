import * as z from 'zod'
import { correctName, isBlockchain, KNOWN_NAMES, OWN_NAME, SOLANA_BLOCKCHAINS } from '../../api/blockchains.ts'
import { apiVersion } from '../../api/fields.ts'
import { DEFAULT_API_VERSION } from '../../api/versions.ts'
import {
  LIMIT_NOTE,
  refuseUnknownHosts,
  requestsPerSecond,
  rpcUrls,
  seconds,
  testNetwork,
  webUrl,
} from './rpc-schema.ts'
import { remoteSigner, signer } from './signer-schema.ts'
import { solanaChain } from './solana-schema.ts'
import { httpBaseUrl, pinning, storage } from './storage-schema.ts'

const MAX_CONFIRMATIONS = 10_000
const MAX_OPERATORS = 16
/** Maximum number of pending transactions that nodes keep for one account. */
const MAX_IN_FLIGHT = 64

const depth = z
  .int({ error: 'must be a whole number of blocks' })
  .min(1, { error: 'must be at least 1 block' })
  .max(MAX_CONFIRMATIONS, { error: `must be at most ${MAX_CONFIRMATIONS} blocks` })

const chain = z
  .strictObject({
    rpc_urls: rpcUrls,
    requests_per_second: requestsPerSecond.optional().describe(LIMIT_NOTE),
    chain_id: z
      .int({ error: 'must be a whole number' })
      .min(1, { error: 'must be at least 1' })
      .optional()
      .describe('Chain ID. Required if the name of the network is unknown'),
    confirmations: depth
      .default(12)
      .describe('Number of confirmations that a transaction needs, including its own block'),
    finality: depth.default(64).describe('Number of blocks after which a transaction is final'),
    poll_seconds: seconds.default(2).describe('Time between polls'),
    stuck_seconds: seconds
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
      .max(MAX_IN_FLIGHT, { error: `must be at most ${MAX_IN_FLIGHT} transactions` })
      .default(16)
      .describe('Maximum number of pending mint transactions of a collection'),
    block_explorer_url: webUrl.optional().describe('URL of a block explorer'),
    test_network: testNetwork,
    operators: z
      .array(signer)
      .min(1, { error: 'must have at least one signer' })
      .max(MAX_OPERATORS, { error: `must have at most ${MAX_OPERATORS} signers` })
      .describe('Accounts that sign and pay'),
    admin: remoteSigner
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
  const near = correctName(name)
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
export const settingsFile = z.strictObject({
  /** URL of a JSON Schema for editors. It has no effect on the backend. */
  $schema: z.string().optional().describe('The schema of this file, for editors'),
  chains: z
    .object(sameSchemaFor(SOLANA_BLOCKCHAINS, solanaChain.optional().describe('A Solana cluster')))
    /** EVM networks, by a built-in name or a custom one. */
    .catchall(chain)
    .check((context) => {
      for (const name of Object.keys(context.value)) {
        if (isBlockchain(name)) continue
        context.issues.push({ code: 'custom', message: nameProblem(name), input: name, path: [name] })
      }
    })
    .meta({ propertyNames: { anyOf: [{ enum: KNOWN_NAMES }, { pattern: OWN_NAME.source }] } })
    .default({})
    .describe('Public networks by name. Any other blockchain is an embedded chain'),
  storage: storage.default({ kind: 'files' }).describe('Storage for the files of NFTs'),
  pinning: pinning.optional().describe('Service that keeps content on the IPFS network'),
  ipfs_gateway: httpBaseUrl.optional().describe("Trustless gateway for ipfs:// files that the backend doesn't store"),
  require_stored_files: z
    .boolean({ error: 'must be true or false' })
    .default(false)
    .describe("Whether to reject NFTs with files that the backend doesn't store"),
  api_version: apiVersion.default(DEFAULT_API_VERSION).describe('API version of API keys that specify no version'),
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

export type SettingsFile = z.output<typeof settingsFile>

export type ChainEntry = z.output<typeof chain>
