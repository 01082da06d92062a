import { base58btc } from 'multiformats/bases/base58'
import * as z from 'zod'
import { refuseUnknownHosts, requestsPerSecond, rpcUrls, seconds, webUrl } from './rpc-schema.ts'
import { credentialName, fileOrCredential } from './secret-schema.ts'
import { keystoreSigner, signerBy } from './signer-schema.ts'
import { CLUSTERS } from './solana-clusters.ts'

const HASH_BYTES = 32

const genesisHash = z.string().check((context) => {
  if (isHash(context.value)) return
  context.issues.push({ code: 'custom', message: 'is not a base58 hash', input: context.value })
})

function isHash(text: string): boolean {
  try {
    return base58btc.baseDecode(text).length === HASH_BYTES
  } catch {
    return false
  }
}

/** A keypair file from solana-keygen, or a credential of the service manager. */
const keypairSigner = z
  .strictObject({
    keypair_file: z.string().min(1).optional(),
    keypair_credential: credentialName.optional(),
  })
  .check(fileOrCredential('keypair_file', 'keypair_credential', { needed: true }))

/** A keypair, or with the field `keystore` an encrypted keystore of gdn. */
const signer = signerBy('keystore', keystoreSigner, keypairSigner)

/** A Solana cluster behind RPC URLs. */
export const solanaChain = z
  .strictObject({
    rpc_urls: rpcUrls,
    requests_per_second: requestsPerSecond.optional(),
    /** A public cluster, if it isn't the blockchain's default. */
    cluster: z.enum(CLUSTERS).optional(),
    /** Genesis hash of a private cluster. */
    genesis_hash: genesisHash.optional(),
    /** The commitment that counts as complete: finalized is never reverted, confirmed is about 12 s sooner. */
    commitment: z.enum(['finalized', 'confirmed']).default('finalized'),
    poll_seconds: seconds.default(2),
    /** Maximum price in micro-lamports for a compute unit; with 0 only the base fee is paid. */
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
    const message = 'belongs to another cluster: set either cluster or genesis_hash'
    context.issues.push({ code: 'custom', message, input: genesis_hash, path: ['genesis_hash'] })
  })
  .check(refuseUnknownHosts)

export type SolanaChainEntry = z.output<typeof solanaChain>
export type SolanaSignerEntry = z.output<typeof signer>

/** The file of a signer, or the name of its credential. */
export const solanaSignerName = (entry: SolanaSignerEntry): string =>
  'keystore' in entry ? entry.keystore : (entry.keypair_file ?? entry.keypair_credential ?? '')
