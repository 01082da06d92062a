import type { Blockchain } from '../../../api/blockchains.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Provenance } from '../../../reveal/verify-provenance.ts'
import type { Verification } from '../../../verify/verify.ts'
import type { ReaderFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'
import type { OutputFlags, ServerFlags } from '../../flags/common.ts'
import type { EnsFlags } from '../../flags/ens.ts'
import { verifyText } from '../../render/verify-text.ts'
import type { View } from '../../render/view.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'

export interface VerifyNftFlags extends OutputFlags, ServerFlags, ReaderFlags, EnsFlags {
  receiver?: string
  blockchain?: Blockchain
  nftGdnId?: string
  onChain?: boolean
}

const FIELDS = [
  'nft_gdn_id',
  'isgdnnft',
  'token_id',
  'status',
  'contract_address',
  'receiver_wallet_address',
  'blockchain',
]

export const VERIFY_VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'nft_gdn_id' }

/** The view with the results of comparing NFTs with chain and storage. `verified` is null if they can't be read. */
export const ON_CHAIN_VIEW: View = {
  ...VERIFY_VIEW,
  fields: [...FIELDS, 'verified', 'verify_error', 'differences', 'provenance'],
  // The error names the differences.
  card: ({ provenance, verify_error: _text, differences: _differences, ...record }) => [
    ...Object.entries(record),
    ['provenance', (provenance as ProvenanceData)?.hash ?? null],
  ],
}

export type ProvenanceData = ReturnType<typeof provenanceData>

export const provenanceData = (provenance: Provenance | null) =>
  provenance === null
    ? null
    : {
        hash: provenance.hash,
        row: provenance.row,
        rows: provenance.rows,
        first_token_id: provenance.firstTokenId,
        is_revealed: provenance.isRevealed,
      }

export function provenanceText({ hash, row, rows, firstTokenId, isRevealed }: Provenance, tokenId: string): string {
  const match = `matches row ${row} of ${rows} in commitment ${hash}, made before token ${firstTokenId} was minted.`
  return isRevealed
    ? `The revealed metadata of token ${tokenId} ${match}`
    : `Token ${tokenId} is not revealed yet. Its metadata ${match}`
}

/** Returns the address of an owner, whose ENS name is resolved on the NFT's blockchain. */
export async function ownerOf(
  deps: Deps,
  settings: Settings,
  flags: VerifyNftFlags,
  owner: string,
  blockchain: Blockchain,
): Promise<string> {
  if (flags.receiver === undefined) return owner
  const found = await resolveEnsFields(deps, { settings, flags, blockchain }, { owner }, () => ({ flag: '--receiver' }))
  return found.owner
}

export const verificationData = (verification: Verification) => ({
  verified: verification.verified,
  verify_error: verifyText(verification),
  differences: verification.verified === false ? verification.differences : [],
})

export function throwUnlessVerified(
  id: string,
  verification: Verification,
  { breaksCommitment = false, history }: { breaksCommitment?: boolean | undefined; history: string | null },
): void {
  if (verification.verified === true) return
  if (verification.verified === null) {
    throw new GdnError('unreachable', `${id} is not verified: ${verification.reason}`, {
      hint: `${breaksCommitment ? '' : 'The service confirms that it created the NFT. '}Run the command again, or set --rpc-url and --gateway.`,
    })
  }
  const other = breaksCommitment ? 'the commitment of the collection' : "the service's record"
  throw new GdnError('verify_failed', `${id} differs from ${other}: ${verifyText(verification)}`, {
    hint: breaksCommitment
      ? `Its metadata was changed after the reveal, or belongs to another row.${history === null ? '' : ` Run \`${history}\` to show its changes.`}`
      : 'The owner differs if the NFT was transferred in the meantime. Investigate any other difference.',
    details: { nft_gdn_id: id, differences: verification.differences },
  })
}
