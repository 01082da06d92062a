import { checksumAddress, evmAddressProblem } from '../../../../api/address.ts'
import { GdnError } from '../../../../core/errors.ts'
import type { Difference } from '../../../../verify/compare-metadata.ts'
import type { Verification } from '../../../../verify/verify.ts'
import { requiredFlagError, wrongAddressError } from '../../../command.ts'
import { serverFlag } from '../../../connect/server-flag.ts'
import type { Deps } from '../../../deps.ts'
import { safe } from '../../../io/io.ts'
import { createOutput, type View } from '../../../render/output.ts'
import { verifyText } from '../../../render/verify-text.ts'
import type { TokenReference } from '../token-reference.ts'
import {
  FILES_NOT_READ_NOTE,
  ON_CHAIN_VIEW,
  provenanceData,
  provenanceText,
  resolveOwner,
  throwUnlessVerified,
  type VerifyNftFlags,
  verificationData,
} from '../verification.ts'
import { verifyToken } from '../verify-token.ts'
import { withKnownBlockchain } from './open-token.ts'
import { type ContentCheck, checkToken } from './verify-content.ts'

/** The view of a token of any contract. */
const TOKEN_VIEW: View = {
  ...ON_CHAIN_VIEW,
  fields: [...ON_CHAIN_VIEW.fields, 'content', 'block_number', 'block_hash'],
  id: 'token_id',
  card: ({ content, ...record }) => [
    ...(ON_CHAIN_VIEW.card?.(record) ?? []),
    ['content', (content as ContentCheck).result.replace('_', ' ')],
    ['token_uri', String((content as ContentCheck).token_uri ?? '').slice(0, MAX_URI_CHARACTERS)],
  ],
}

/** Maximum length of a token URI in a card. A data URL that contains metadata is long. */
const MAX_URI_CHARACTERS = 200

/**
 * Proves from chain and storage that a token's metadata matches its collection's commitment, or else the CID in its
 * token URI. Prints the result.
 */
export async function proveToken(deps: Deps, givenFlags: VerifyNftFlags, token: TokenReference): Promise<void> {
  const output = createOutput(deps.io, givenFlags, TOKEN_VIEW)
  const flags = await withKnownBlockchain(deps, givenFlags, token)
  const resolved = await withOwner(deps, flags)
  const { content, differences, facts, block, blockchain } = await checkToken(deps, resolved, token)
  const proof = facts.isOfGdn ? await verifyToken(deps, flags, token) : null
  const verification = withDifferences(proof?.verification ?? toVerification(content), differences)
  const provenance = proof?.provenance ?? null
  await output.one({
    nft_gdn_id: null,
    isgdnnft: null,
    token_id: token.tokenId,
    status: null,
    contract_address: token.contractAddress,
    receiver_wallet_address: facts.owner === null ? null : checksumAddress(facts.owner),
    blockchain,
    ...verificationData(verification),
    provenance: provenanceData(provenance),
    content,
    block_number: block.number,
    block_hash: block.hash,
  })
  if (proof === null) throwUnlessMatching(token, verification, { content, isOfGdn: facts.isOfGdn })
  else {
    // Without a server, the history can't be requested.
    const history = proof.server === null ? null : `gdn nft history <nft_gdn_id>${serverFlag(proof.server)}`
    throwUnlessVerified(`token ${token.tokenId}`, verification, { broken: { hint: proof.hint }, history })
  }
  if (provenance !== null) deps.io.note(provenanceText(provenance, token.tokenId))
  else {
    const finding = content.cid === null ? 'is in the contract itself' : `matches its CID ${content.cid}`
    deps.io.note(safe(`The metadata of token ${token.tokenId} ${finding}, as of block ${block.number}.`))
    if (facts.isOfGdn) deps.io.note(NO_COMMITMENT_NOTE)
  }
  deps.io.note(FILES_NOT_READ_NOTE)
}

const NO_COMMITMENT_NOTE =
  "The collection has no commitment to the metadata, so gdn can't prove how the metadata was chosen."

/**
 * Returns the flags, with an ENS name in `--receiver` replaced by its address.
 *
 * @throws GdnError `usage` if the address is invalid
 */
async function withOwner(deps: Deps, flags: VerifyNftFlags): Promise<VerifyNftFlags> {
  if (flags.receiver === undefined) return flags
  const settings = await deps.settings(flags)
  const blockchain = settings.blockchain?.value
  if (blockchain === undefined) throw requiredFlagError('--blockchain', 'Add --blockchain <name>.')
  const receiver = await resolveOwner(deps, settings, flags, flags.receiver, blockchain)
  const problem = evmAddressProblem(receiver)
  if (problem !== null) throw wrongAddressError(receiver, problem, '--receiver')
  return { ...flags, receiver }
}

function toVerification({ result, reason }: ContentCheck): Verification {
  if (result === 'matches') return { verified: true }
  if (result !== 'differs') return { verified: null, reason: reason ?? 'unknown' }
  return {
    verified: false,
    differences: [{ what: 'metadata', expected: 'the metadata that the token URI identifies', found: reason }],
  }
}

const withDifferences = (verification: Verification, differences: readonly Difference[]): Verification =>
  differences.length === 0
    ? verification
    : {
        verified: false,
        differences: [...differences, ...(verification.verified === false ? verification.differences : [])],
      }

/**
 * Throws unless a token without a commitment is verified. Its metadata must match the CID in its token URI, or be in
 * the contract itself.
 */
function throwUnlessMatching(
  { tokenId, contractAddress }: TokenReference,
  verification: Verification,
  { content, isOfGdn }: { content: ContentCheck; isOfGdn: boolean },
) {
  if (verification.verified === true) return
  const token = `token ${tokenId} of ${contractAddress}`
  if (verification.verified === false) {
    throw new GdnError('verify_failed', `${token} differs: ${verifyText(verification)}`, {
      hint: 'If the metadata differs, try another --gateway.',
      details: { differences: verification.differences },
    })
  }
  if (content.result === 'not_verifiable') {
    throw new GdnError('verify_failed', `${token} is not verifiable: ${verification.reason}`, {
      hint: 'Only metadata at an ipfs URL or in the contract can be verified. Run `gdn nft show` with the same flags to show the metadata.',
    })
  }
  throw new GdnError('unreachable', `${token} is not verified: ${verification.reason}`, {
    hint: isOfGdn
      ? 'To verify the metadata, use a gateway that returns blocks (?format=raw). To compare an NFT with the record of the service that created it instead, run `gdn nft verify <nft_gdn_id> --on-chain`.'
      : 'Use a gateway that returns blocks (?format=raw), such as --gateway https://ipfs.io.',
  })
}
