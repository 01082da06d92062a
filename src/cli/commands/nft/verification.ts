import type { Blockchain } from '../../../api/blockchains.ts'
import { formatIsoSeconds } from '../../../api/shuffle-rule.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Provenance } from '../../../reveal/verify-provenance.ts'
import type { ShuffleProof } from '../../../reveal/verify-shuffle.ts'
import type { Verification } from '../../../verify/verify.ts'
import type { BeaconFlags } from '../../connect/open-beacon.ts'
import type { ReaderFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'
import type { OutputFlags, ServerFlags } from '../../flags/common.ts'
import type { EnsFlags } from '../../flags/ens.ts'
import { verifyText } from '../../render/verify-text.ts'
import type { View } from '../../render/view.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'

export interface VerifyNftFlags extends OutputFlags, ServerFlags, ReaderFlags, BeaconFlags, EnsFlags {
  receiver?: string
  contract?: string
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

/**
 * The view of the results of verifying NFTs against chain and storage. `verified` is null if chain or storage can't be
 * read.
 */
export const ON_CHAIN_VIEW: View = {
  ...VERIFY_VIEW,
  fields: [...FIELDS, 'verified', 'verify_error', 'differences', 'provenance'],
  // The card omits these fields, because the error names the differences.
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
        shuffle: provenance.shuffle === null ? null : shuffleData(provenance.shuffle),
      }

const shuffleData = ({ slot, marginSeconds, seal, sealed, isNamed, isSimulated }: ShuffleProof) => ({
  slot,
  margin_seconds: marginSeconds,
  seal,
  seal_block: sealed?.block ?? null,
  sealed_at: sealed === null ? null : formatIsoSeconds(sealed.time),
  beacon: isNamed ? 'named' : 'drand-quicknet',
  round: sealed?.round ?? null,
  round_at: sealed === null ? null : formatIsoSeconds(sealed.roundTime),
  is_simulated: isSimulated,
})

/** The note that is printed for a verified NFT. */
export const FILES_NOT_READ_NOTE =
  'Its files were not checked. To check the files of all tokens, run `gdn collection check`.'

export function provenanceText(provenance: Provenance, tokenId: string): string {
  const { hash, row, rows, firstTokenId, isRevealed, shuffle } = provenance
  const before = `in commitment ${hash}, made before token ${firstTokenId} was minted.`
  const match = `matches row ${row} of ${rows} ${before}`
  const revealed = `The revealed metadata of token ${tokenId} ${match}`
  if (shuffle !== null) {
    const hidden = `Token ${tokenId} is not revealed yet. It has slot ${shuffle.slot} of ${rows} ${before}`
    return [isRevealed ? revealed : hidden, ...shuffleText(provenance, shuffle, tokenId)].join(' ')
  }
  return isRevealed ? revealed : `Token ${tokenId} is not revealed yet. Its metadata ${match}`
}

/** Returns sentences that explain a shuffle proof to a buyer. */
function shuffleText({ row, rows }: Provenance, { sealed, isNamed, isSimulated }: ShuffleProof, tokenId: string) {
  if (sealed === null) {
    return [
      'The drop is not sealed yet, so more tokens can be minted. The seal determines the round that draws the rows.',
    ]
  }
  const { block, time, round, roundTime } = sealed
  const of = isNamed ? 'a beacon that you specified' : 'drand'
  const beacon = `round ${round} of ${of}, ${row === null || isNamed ? 'due' : 'published'} at ${formatIsoSeconds(roundTime)}`
  const after = `after all tokens were minted (block ${block}, ${formatIsoSeconds(time)})`
  // With a named beacon, don't claim that the draw is random: the owner of the beacon's key can sign any round at any
  // time.
  const [chooses, chose] = isNamed
    ? ['', '']
    : ['The draw assigns rows to tokens at random: ', 'The draw assigned rows to tokens at random: ']
  const sentence =
    row === null
      ? `${chooses}the row of token ${tokenId} is drawn by ${beacon}, ${after}.`
      : `${chose}row ${row} of ${rows} was drawn for token ${tokenId} by ${beacon}, ${after}.`
  return [
    `${sentence[0]?.toUpperCase()}${sentence.slice(1)}`,
    ...(isNamed
      ? ['This is not proof of a random draw: anyone with the key of that beacon could have chosen the rows.']
      : []),
    ...(isSimulated ? ['This is a simulation: the operator of an embedded chain controls the block timestamps.'] : []),
  ]
}

/** Returns the address of an owner. Resolves an ENS name on the NFT's blockchain. */
export async function resolveOwner(
  deps: Deps,
  settings: Settings,
  flags: VerifyNftFlags,
  owner: string,
  blockchain: Blockchain,
): Promise<string> {
  if (flags.receiver === undefined) return owner
  const addresses = await resolveEnsFields(deps, { settings, flags, blockchain }, { owner }, () => ({
    flag: '--receiver',
  }))
  return addresses.owner
}

export const verificationData = (verification: Verification) => ({
  verified: verification.verified,
  verify_error: verifyText(verification),
  differences: verification.verified === false ? verification.differences : [],
})

export function throwUnlessVerified(
  id: string,
  verification: Verification,
  { broken, history }: { broken?: { hint: string | undefined } | undefined; history: string | null },
): void {
  if (verification.verified === true) return
  if (verification.verified === null) {
    throw new GdnError('unreachable', `${id} is not verified: ${verification.reason}`, {
      hint: `${broken ? '' : 'The service confirms that it created the NFT. '}Run the command again, or set --rpc-url and --gateway.`,
    })
  }
  const other = broken ? 'the commitment of the collection' : "the service's record"
  throw new GdnError('verify_failed', `${id} differs from ${other}: ${verifyText(verification)}`, {
    hint: broken
      ? `${broken.hint ?? 'Its metadata was changed after the reveal, or belongs to another row.'}${history === null ? '' : ` Run \`${history}\` to show its changes.`}`
      : 'The owner differs if the NFT was transferred in the meantime. Investigate any other difference.',
    details: { nft_gdn_id: id, differences: verification.differences },
  })
}
