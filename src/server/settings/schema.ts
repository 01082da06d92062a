import * as z from 'zod'
import { EVM_BLOCKCHAINS, SOLANA_BLOCKCHAINS } from '../../api/blockchains.ts'
import { refuseUnknownHosts, requestsPerSecond, rpcUrls, seconds, webUrl } from './rpc-schema.ts'
import { credentialName, fileOrCredential } from './secret-schema.ts'
import { solanaChain } from './solana-schema.ts'
import { address, pinning, storage } from './storage-schema.ts'

const MAX_CONFIRMATIONS = 10_000
const MAX_OPERATORS = 16

const depth = z
  .int({ error: 'must be a whole number of blocks' })
  .min(1, { error: 'must be at least 1 block' })
  .max(MAX_CONFIRMATIONS, { error: `must be at most ${MAX_CONFIRMATIONS} blocks` })

/** A key in a keystore, and where its password is: a file, or a credential that the service manager hands over. */
const signer = z
  .strictObject({
    keystore: z.string().min(1),
    password_file: z.string().min(1).optional(),
    password_credential: credentialName.optional(),
  })
  .check(fileOrCredential('password_file', 'password_credential', { needed: true }))

const chain = z
  .strictObject({
    /** Nodes of the network, the one to prefer first. */
    rpc_urls: rpcUrls,
    /** By default as often as there is work. */
    requests_per_second: requestsPerSecond.optional(),
    /** Where the blockchain stands for another network than that of the reference: its successor, mostly. */
    chain_id: z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' }).optional(),
    /** Blocks, a transaction's own included, until it counts. */
    confirmations: depth.default(12),
    /** Blocks until nothing is undone any more. */
    finality: depth.default(64),
    poll_seconds: seconds.default(2),
    /** How long a transaction may be the next of its signer before its fees are raised. */
    stuck_seconds: seconds.default(60),
    /** No transaction offers more for a unit of gas. */
    max_fee_gwei: z
      .number({ error: 'must be a number of gwei' })
      .gt(0, { error: 'must be above 0' })
      .max(1_000_000, { error: 'must be at most 1000000 gwei' })
      .default(1000),
    block_explorer_url: webUrl.optional(),
    operators: z
      .array(signer)
      .min(1, { error: 'needs one signer at least' })
      .max(MAX_OPERATORS, { error: `may name ${MAX_OPERATORS} signers` }),
  })
  .check(refuseUnknownHosts)
  .check((context) => {
    const { confirmations, finality } = context.value
    if (finality >= confirmations) return
    const message = 'must be at least as many blocks as confirmations'
    context.issues.push({ code: 'custom', message, input: finality, path: ['finality'] })
  })

const recordOf = <Name extends string, Schema>(names: readonly Name[], schema: Schema) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>

/** The schema of `backend.yaml`: public networks, PostgreSQL, the storage of files, and which files of NFTs are accepted. */
export const settingsFile = z.strictObject({
  chains: z
    .strictObject({
      ...recordOf(EVM_BLOCKCHAINS, chain.optional()),
      ...recordOf(SOLANA_BLOCKCHAINS, solanaChain.optional()),
    })
    .default({}),
  storage: storage.default({ kind: 'files' }),
  pinning: pinning.optional(),
  /** A trustless gateway: `ipfs:` files that are not stored here are fetched from it. */
  ipfs_gateway: address.optional(),
  /** Mint no NFT with a file that is not stored here. */
  require_stored_files: z.boolean({ error: 'must be true or false' }).default(false),
  database_url: z.string().min(1).optional(),
  /** A private file that holds it. */
  database_url_file: z.string().min(1).optional(),
  /** Of the server itself, where the other is that of a pooler. */
  database_direct_url: z.string().min(1).optional(),
  database_direct_url_file: z.string().min(1).optional(),
})

export type SettingsFile = z.output<typeof settingsFile>

export type ChainEntry = z.output<typeof chain>
export type SignerEntry = z.output<typeof signer>
