import { base58btc } from 'multiformats/bases/base58'
import * as z from 'zod'
import {
  RATE_LIMIT_DESCRIPTION,
  refuseUnknownHosts,
  requestsPerSecondSchema,
  rpcUrlsSchema,
  secondsSchema,
  testNetworkSchema,
  webUrlSchema,
} from './rpc-schema.ts'
import { credentialSchema, withSecrets } from './secret-schema.ts'
import { createSignerSchema, keystoreSignerSchema } from './signer-schema.ts'
import { CLUSTERS } from './solana-clusters.ts'

const HASH_BYTES = 32

const genesisHashSchema = z.string().check((context) => {
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

/** A keypair from solana-keygen in a file, in a systemd credential or in /run/secrets. */
const keypairSignerSchema = withSecrets(
  z.strictObject({
    keypair_file: z.string().min(1).optional().describe('Keypair file from solana-keygen'),
    keypair_credential: credentialSchema('the keypair'),
  }),
  ['keypair_file', 'keypair_credential', 'required'],
)

/** A gdn keystore if the entry has `keystore`, otherwise a keypair. */
const signerSchema = createSignerSchema('keystore', keystoreSignerSchema, keypairSignerSchema)

/** A Solana cluster behind RPC URLs. */
export const solanaChainSchema = z
  .strictObject({
    rpc_urls: rpcUrlsSchema,
    requests_per_second: requestsPerSecondSchema.optional().describe(RATE_LIMIT_DESCRIPTION),
    cluster: z.enum(CLUSTERS).optional().describe("Public cluster, if it isn't the blockchain's default"),
    genesis_hash: genesisHashSchema.optional().describe('Genesis hash of a private cluster'),
    commitment: z
      .enum(['finalized', 'confirmed'])
      .default('finalized')
      .describe(
        'Commitment level at which a transaction counts as complete. A finalized transaction is never reverted. The level confirmed is about 12 s faster',
      ),
    poll_seconds: secondsSchema.default(2).describe('Time between polls'),
    max_compute_unit_price: z
      .int({ error: 'must be a whole number of micro-lamports' })
      .min(0)
      .max(1_000_000_000)
      .default(100_000)
      .describe('Maximum price per compute unit, in micro-lamports; 0 pays only the base fee'),
    block_explorer_url: webUrlSchema.optional().describe('URL of a block explorer'),
    test_network: testNetworkSchema,
    signer: signerSchema.describe('The account that pays and signs'),
  })
  .check((context) => {
    const { cluster, genesis_hash } = context.value
    if (cluster === undefined || genesis_hash === undefined) return
    const message = "can't be combined with cluster: set either cluster or genesis_hash"
    context.issues.push({ code: 'custom', message, input: genesis_hash, path: ['genesis_hash'] })
  })
  .check(refuseUnknownHosts)
  .meta({ not: { required: ['cluster', 'genesis_hash'] } })

export type SolanaChainEntry = z.output<typeof solanaChainSchema>
export type SolanaSignerEntry = z.output<typeof signerSchema>

/** Returns the file of a signer, or the name of its credential. */
export const solanaSignerName = (entry: SolanaSignerEntry): string =>
  'keystore' in entry ? entry.keystore : (entry.keypair_file ?? entry.keypair_credential ?? '')
