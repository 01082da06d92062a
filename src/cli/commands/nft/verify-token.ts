import type { Blockchain } from '../../../api/blockchains.ts'
import type { Server } from '../../../config/server.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Provenance, ProvenanceCheck } from '../../../reveal/verify-provenance.ts'
import type { Verification } from '../../../verify/verify.ts'
import { requiredFlagError } from '../../command.ts'
import { type BeaconFlags, openConfiguredBeacon } from '../../connect/open-beacon.ts'
import { type NftVerifier, openVerifier, type ReaderFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'
import type { ServerFlags } from '../../flags/common.ts'
import type { TokenReference } from './token-reference.ts'

/**
 * Proves from chain and storage that the metadata of a token matches the commitment of its collection. Needs no API
 * key. Uses a server only if the node or the gateway isn't specified.
 *
 * @returns null if the token was minted without a commitment
 */
export async function verifyToken(
  deps: Deps,
  flags: ReaderFlags & BeaconFlags & ServerFlags & { blockchain?: Blockchain },
  token: TokenReference,
): Promise<(ProofResult & { server: Server | null }) | null> {
  const blockchain = (await deps.settings(flags)).blockchain?.value
  if (blockchain === undefined) throw requiredFlagError('--blockchain', 'Add --blockchain <name>.')
  const server = await namedServer(deps, flags)
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  const progress = await deps.io.progress('Reading the chain and the storage')
  try {
    if ('reason' in verifier) throw new GdnError('usage', verifier.reason)
    const check = await checkProvenance(deps, flags, verifier, token)
    return check.kind === 'none' ? null : { ...toProofResult(check), server }
  } finally {
    progress.stop()
    await close()
  }
}

/**
 * Returns the server that a flag or the environment specifies; null if there is none. Proofs don't rely on a server
 * from a configuration file.
 */
export async function namedServer(deps: Deps, flags: ServerFlags): Promise<Server | null> {
  const { local, baseUrl = deps.env.GDN_BASE_URL, profile = deps.env.GDN_PROFILE } = flags
  return local || baseUrl || profile ? await (await deps.settings(flags)).server() : null
}

/** Proves the metadata of a token, given open connections to its chain and storage. */
export async function checkProvenance(
  deps: Deps,
  flags: BeaconFlags,
  { chain, storage }: Exclude<NftVerifier, { reason: string }>,
  token: TokenReference,
): Promise<ProvenanceCheck> {
  const { verifyProvenance } = await import('../../../reveal/verify-provenance.ts')
  const openBeacon = () => openConfiguredBeacon(deps, flags)
  return await verifyProvenance({ chain, storage, openBeacon, signal: deps.signals.signal }, token)
}

interface ProofResult {
  verification: Verification
  provenance: Provenance | null
  /** Explains the differences; undefined if there is no explanation. */
  hint: string | undefined
}

export function toProofResult(check: Exclude<ProvenanceCheck, { kind: 'none' }>): ProofResult {
  const { kind } = check
  if (kind === 'proven') return { verification: { verified: true }, provenance: check.provenance, hint: undefined }
  if (kind === 'unknown') {
    return { verification: { verified: null, reason: check.reason }, provenance: null, hint: undefined }
  }
  return { verification: { verified: false, differences: check.differences }, provenance: null, hint: check.hint }
}
