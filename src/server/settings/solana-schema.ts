import { base58btc } from 'multiformats/bases/base58'
import * as z from 'zod'
import { refuseUnknownHosts, requestsPerSecond, rpcUrls, seconds, webUrl } from './rpc-schema.ts'
import { credentialName, fileOrCredential } from './secret-schema.ts'
import { CLUSTERS } from './solana-clusters.ts'

const HASH_BYTES = 32

const genesisHash = z.string().check((context) => {
  if (isHash(context.value)) return
  context.issues.push({ code: 'custom', message: 'is no hash in base58', input: context.value })
})

function isHash(text: string): boolean {
  try {
    return base58btc.baseDecode(text).length === HASH_BYTES
  } catch {
    return false
  }
}

/** A keypair file of solana-keygen, or a credential that the service manager hands over. */
const signer = z
  .strictObject({
    keypair_file: z.string().min(1).optional(),
    keypair_credential: credentialName.optional(),
  })
  .check(fileOrCredential('keypair_file', 'keypair_credential', { needed: true }))

/** A Solana cluster that is reached by RPC URL. */
export const solanaChain = z
  .strictObject({
    rpc_urls: rpcUrls,
    requests_per_second: requestsPerSecond.optional(),
    /** Of the public clusters, where it isn't that of the blockchain's name. */
    cluster: z.enum(CLUSTERS).optional(),
    /** Of a cluster of one's own. */
    genesis_hash: genesisHash.optional(),
    /** What counts as done: finalized is never undone, confirmed is some twelve seconds sooner. */
    commitment: z.enum(['finalized', 'confirmed']).default('finalized'),
    poll_seconds: seconds.default(2),
    /** Millionths of a lamport that are offered for a compute unit at most; 0 offers nothing beyond the base fee. */
    max_compute_unit_price: z
      .int({ error: 'must be a whole number of micro-lamports' })
      .min(0)
      .max(1_000_000_000)
      .default(100_000),
    block_explorer_url: webUrl.optional(),
    signer,
  })
  .check((context) => {
    const { cluster, genesis_hash } = context.value
    if (cluster === undefined || genesis_hash === undefined) return
    const message = "is another cluster's: give cluster or genesis_hash"
    context.issues.push({ code: 'custom', message, input: genesis_hash, path: ['genesis_hash'] })
  })
  .check(refuseUnknownHosts)

export type SolanaChainEntry = z.output<typeof solanaChain>
export type KeypairEntry = z.output<typeof signer>
