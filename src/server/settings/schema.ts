import * as z from 'zod'
import { isBlockchain, misspelled, SOLANA_BLOCKCHAINS } from '../../api/blockchains.ts'
import { apiVersion } from '../../api/fields.ts'
import { DEFAULT_API_VERSION } from '../../api/versions.ts'
import { refuseUnknownHosts, requestsPerSecond, rpcUrls, seconds, webUrl } from './rpc-schema.ts'
import { remoteSigner, signer } from './signer-schema.ts'
import { solanaChain } from './solana-schema.ts'
import { address, pinning, storage } from './storage-schema.ts'

const MAX_CONFIRMATIONS = 10_000
const MAX_OPERATORS = 16
/** Nodes keep no more of one account. */
const MAX_IN_FLIGHT = 64

const depth = z
  .int({ error: 'must be a whole number of blocks' })
  .min(1, { error: 'must be at least 1 block' })
  .max(MAX_CONFIRMATIONS, { error: `must be at most ${MAX_CONFIRMATIONS} blocks` })

const chain = z
  .strictObject({
    /** Nodes of the network, the preferred one first. */
    rpc_urls: rpcUrls,
    /** Poll interval; by default as often as there is work. */
    requests_per_second: requestsPerSecond.optional(),
    /** Required for a name that viem/chains doesn't know, and for one that is used for another network. */
    chain_id: z.int({ error: 'must be a whole number' }).min(1, { error: 'must be at least 1' }).optional(),
    /** Number of blocks, a transaction's own included, until it counts. */
    confirmations: depth.default(12),
    /** Number of blocks until finality. */
    finality: depth.default(64),
    poll_seconds: seconds.default(2),
    /** How long a transaction may be its signer's next before its fees are raised. */
    stuck_seconds: seconds.default(60),
    /** Upper limit of the fee for a unit of gas. */
    max_fee_gwei: z
      .number({ error: 'must be a number of gwei' })
      .gt(0, { error: 'must be above 0' })
      .max(1_000_000, { error: 'must be at most 1000000 gwei' })
      .default(1000),
    /** Maximum number of a collection's mints that wait for a block. */
    mints_in_flight: z
      .int({ error: 'must be a whole number of transactions' })
      .min(1, { error: 'must be at least 1 transaction' })
      .max(MAX_IN_FLIGHT, { error: `must be at most ${MAX_IN_FLIGHT} transactions` })
      .default(16),
    block_explorer_url: webUrl.optional(),
    operators: z
      .array(signer)
      .min(1, { error: 'must have at least one signer' })
      .max(MAX_OPERATORS, { error: `must have at most ${MAX_OPERATORS} signers` }),
    /** The factory's admin, if its key is in a remote signer. Only `gdn chain setup` uses it. */
    admin: remoteSigner.optional(),
  })
  .check(refuseUnknownHosts)
  .check((context) => {
    const { confirmations, finality } = context.value
    if (finality >= confirmations) return
    const message = 'must be at least as many blocks as confirmations'
    context.issues.push({ code: 'custom', message, input: finality, path: ['finality'] })
  })

function nameProblem(name: string): string {
  const near = misspelled(name)
  if (near !== null) return `is not a known network, and too close to ${near} for a name of your own`
  if (/^solana/.test(name)) return `is not a known network: the clusters are ${SOLANA_BLOCKCHAINS.join(' and ')}`
  return 'is not a valid name: use 2 to 40 characters a-z, 0-9 and hyphens between them'
}

const recordOf = <Name extends string, Schema>(names: readonly Name[], schema: Schema) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>

/** The schema of `backend.yaml`: public networks, PostgreSQL, the storage of files, which files of NFTs are accepted, and the version of the API. */
export const settingsFile = z.strictObject({
  chains: z
    .object(recordOf(SOLANA_BLOCKCHAINS, solanaChain.optional()))
    /** EVM networks, by a known name or by the operator's own. */
    .catchall(chain)
    .check((context) => {
      for (const name of Object.keys(context.value)) {
        if (isBlockchain(name)) continue
        context.issues.push({ code: 'custom', message: nameProblem(name), input: name, path: [name] })
      }
    })
    .default({}),
  storage: storage.default({ kind: 'files' }),
  pinning: pinning.optional(),
  /** A trustless gateway, from which `ipfs:` files that aren't stored here are fetched. */
  ipfs_gateway: address.optional(),
  /** Mint no NFT with a file that isn't stored here. */
  require_stored_files: z.boolean({ error: 'must be true or false' }).default(false),
  /** The version of the API for keys that name none. */
  api_version: apiVersion.default(DEFAULT_API_VERSION),
  database_url: z.string().min(1).optional(),
  /** A private file with the URL. */
  database_url_file: z.string().min(1).optional(),
  /** The server's own URL, if the other one points to a pooler. */
  database_direct_url: z.string().min(1).optional(),
  database_direct_url_file: z.string().min(1).optional(),
})

export type SettingsFile = z.output<typeof settingsFile>

export type ChainEntry = z.output<typeof chain>
