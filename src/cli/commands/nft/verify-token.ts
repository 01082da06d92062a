import type { Blockchain } from '../../../api/blockchains.ts'
import type { Server } from '../../../config/server.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Provenance, ProvenanceCheck } from '../../../reveal/verify-provenance.ts'
import type { Verification } from '../../../verify/verify.ts'
import { openVerifier, type ReaderFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'
import { requiredFlag } from '../../flag-errors.ts'
import type { ServerFlags } from '../../flags/common.ts'

/** A token of a collection, identified without a server. */
export interface NamedToken {
  contractAddress: string
  tokenId: string
}

/** Parses `<contract>/<token ID>`. Returns null for any other text. */
export function tokenNamed(text: string): NamedToken | null {
  const [, contractAddress, tokenId] = /^(0x[0-9a-f]{40})\/(\d{1,78})$/i.exec(text) ?? []
  return contractAddress === undefined || tokenId === undefined ? null : { contractAddress, tokenId }
}

/**
 * Proves that the metadata of a token matches the commitment of its collection, by reading the chain and the storage.
 * Needs no API key. Uses a server only if no node or no gateway is specified.
 *
 * @throws GdnError `not_found` if the token was minted without a commitment
 */
export async function verifyToken(
  deps: Deps,
  flags: ReaderFlags & ServerFlags & { blockchain?: Blockchain },
  token: NamedToken,
): Promise<{ verification: Verification; provenance: Provenance | null; server: Server | null }> {
  const blockchain = (await deps.settings(flags)).blockchain?.value
  if (blockchain === undefined) throw requiredFlag('--blockchain', 'Add --blockchain <name>.')
  const server = await namedServer(deps, flags)
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  const progress = await deps.io.progress('Reading the chain and the storage')
  try {
    if ('reason' in verifier) throw new GdnError('usage', verifier.reason)
    const { verifyProvenance } = await import('../../../reveal/verify-provenance.ts')
    return { ...resultOf(await verifyProvenance(verifier.chain, verifier.storage, token), token), server }
  } finally {
    progress.stop()
    await close()
  }
}

/**
 * Returns the server that a flag or the environment names; null if none. A proof doesn't rely on the server of a
 * configuration file.
 */
async function namedServer(deps: Deps, flags: ServerFlags): Promise<Server | null> {
  const { local, baseUrl = deps.env.GDN_BASE_URL, profile = deps.env.GDN_PROFILE } = flags
  return local || baseUrl || profile ? await (await deps.settings(flags)).server() : null
}

function resultOf(check: ProvenanceCheck, { contractAddress, tokenId }: NamedToken) {
  if (check.kind === 'proven') return { verification: { verified: true as const }, provenance: check.provenance }
  if (check.kind === 'unknown') return { verification: { verified: null, reason: check.reason }, provenance: null }
  if (check.kind === 'differs')
    return { verification: { verified: false as const, differences: check.differences }, provenance: null }
  throw new GdnError('not_found', `token ${tokenId} of ${contractAddress} was minted without a commitment`, {
    hint: 'Run `gdn nft verify <nft_gdn_id> --on-chain` to compare an NFT with the service that created it.',
  })
}
