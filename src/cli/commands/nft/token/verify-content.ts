import { checksumAddress } from '../../../../api/address.ts'
import { isSameAddress } from '../../../../api/same-address.ts'
import { decodeNumber } from '../../../../verify/abi.ts'
import type { Difference } from '../../../../verify/compare-metadata.ts'
import { type CallOutcome, problemOrNull } from '../../../../verify/contract/contract-reader.ts'
import { parseMetadata, parseMetadataPlace } from '../../../../verify/contract/token-uri.ts'
import type { Deps } from '../../../deps.ts'
import type { TokenReference } from '../token-reference.ts'
import { withGateway } from './gateway-access.ts'
import { type OpenToken, openToken, type TokenFlags, type TokenOptions } from './open-token.ts'

/**
 * Whether a token has the metadata that its contract specifies. `matches`: the content has the CID in the token URI, or
 * is in the contract itself. `not_verifiable`: the URL doesn't identify the content. `unknown`: the metadata couldn't
 * be read.
 */
export interface ContentCheck {
  result: 'matches' | 'differs' | 'not_verifiable' | 'unknown'
  token_uri: string | null
  /** The CID that the content matches; null if there is none, such as for metadata in the contract itself. */
  cid: string | null
  /** The reason why the metadata doesn't match; null if it matches. */
  reason: string | null
}

export interface CheckedToken extends OpenToken {
  content: ContentCheck
  /** The differences between the owner and `--receiver`. */
  differences: Difference[]
}

type VerifyFlags = TokenFlags & { receiver?: string }

/** Checks a token of any contract: the owner, if the user specifies one, and the content of the metadata. */
export async function checkToken(deps: Deps, flags: VerifyFlags, token: TokenReference): Promise<CheckedToken> {
  const differences: Difference[] = []
  const compareOwner: TokenOptions['more'] = async (reader, facts, id) => {
    const { receiver } = flags
    if (receiver === undefined) return
    if (facts.standard === 'erc1155') {
      const [balance] = await reader.call([
        { signature: 'balanceOf(address,uint256)', args: [receiver.toLowerCase(), id], decode: decodeNumber },
      ])
      differences.push(...findBalanceDifferences(receiver, balance))
    } else if (facts.owner === null || !isSameAddress(facts.owner, receiver)) {
      const found = facts.owner === null ? null : checksumAddress(facts.owner)
      differences.push({ what: 'owner', expected: receiver, found })
    }
  }
  const open = await openToken(deps, flags, token, { usesConfigured: false, more: compareOwner })
  return { ...open, differences, content: await checkContent(deps, flags, open) }
}

function findBalanceDifferences(receiver: string, balance: CallOutcome<bigint> | undefined): Difference[] {
  const what = `balance of ${receiver}`
  if (balance === undefined || 'problem' in balance) {
    const why = balance === undefined ? 'has no response' : (problemOrNull(balance) ?? '')
    return [{ what, expected: 'at least 1', found: `unknown: balanceOf(address,uint256) ${why}` }]
  }
  return balance.value > 0n ? [] : [{ what, expected: 'at least 1', found: '0' }]
}

async function checkContent(deps: Deps, flags: VerifyFlags, { facts, server }: OpenToken): Promise<ContentCheck> {
  const { token_uri } = facts
  const check = (result: ContentCheck['result'], reason: string | null, cid: string | null = null): ContentCheck => ({
    ...{ result, token_uri, cid, reason },
  })
  if (token_uri === null) return check('unknown', facts.not_readable.token_uri ?? 'the token has no URI')
  const place = parseMetadataPlace(token_uri)
  if (place.kind === 'http')
    return check('not_verifiable', 'its metadata is at a web address, whose content can change')
  if (place.kind === 'other') {
    return check(
      'not_verifiable',
      `its token URI is neither an ipfs nor a data URL${place.scheme && `: ${place.scheme}`}`,
    )
  }
  const checkParsing = (content: Uint8Array, cid: string | null) => {
    const metadata = parseMetadata(content)
    return 'problem' in metadata
      ? check('differs', `its metadata ${metadata.problem}`, cid)
      : check('matches', null, cid)
  }
  if (place.kind === 'data') {
    return place.content === null ? check('differs', 'its data URL is malformed') : checkParsing(place.content, null)
  }
  return await withGateway(deps, flags, server, async (access) => {
    if (access === null) return check('unknown', 'no IPFS gateway is specified: set --gateway')
    const { readVerifiedFile } = await import('./verified-file.ts')
    const file = await readVerifiedFile(place.url, access)
    return file.kind === 'matches' ? checkParsing(file.bytes, file.cid) : check(file.kind, file.reason)
  })
}
