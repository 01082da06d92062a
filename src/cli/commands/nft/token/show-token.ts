import { checksumAddress } from '../../../../api/address.ts'
import { formatTraitValue, isTraitType, readAttribute } from '../../../../api/traits.ts'
import { isRecord } from '../../../../core/json.ts'
import type { Royalty } from '../../../../verify/contract/read-contract.ts'
import { blockData } from '../../../connect/with-contract.ts'
import type { Deps } from '../../../deps.ts'
import type { OutputFlags } from '../../../flags/common.ts'
import { safe } from '../../../io/io.ts'
import { royaltyText, STANDARDS, shortText, shownAddress } from '../../../render/contract-text.ts'
import { type CardRow, createOutput, type DataRecord, type RecordCard, type View } from '../../../render/output.ts'
import type { TokenReference } from '../token-reference.ts'
import { withGateway } from './gateway-access.ts'
import { openToken, type TokenFlags, withKnownBlockchain } from './open-token.ts'
import { readTokenMetadata } from './read-metadata.ts'

const FIELDS = [
  ...['contract_address', 'token_id', 'blockchain', 'block_number', 'block_hash', 'block_time', 'standard', 'owner'],
  ...['token_uri', 'metadata', 'royalty', 'total_supply', 'max_supply', 'contradictions', 'not_readable'],
]

const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'token_id', card: toCard }

/** Shows a token of any contract: the contract's data about the token, and its metadata. */
export async function showToken(
  deps: Deps,
  token: TokenReference,
  givenFlags: TokenFlags & OutputFlags,
): Promise<void> {
  const output = createOutput(deps.io, givenFlags, VIEW)
  const flags = await withKnownBlockchain(deps, givenFlags, token)
  const { facts, block, blockchain, server } = await openToken(deps, flags, token, { usesConfigured: true })
  const { standard, owner, token_uri, royalty, total_supply, max_supply, contradictions } = facts
  const metadataOrProblem =
    token_uri === null
      ? { problem: "can't be read, because the token has no URI" }
      : await withGateway(deps, flags, server, (access) => readTokenMetadata(token_uri, access, deps.signals.signal))
  const problem = 'problem' in metadataOrProblem ? `the metadata ${metadataOrProblem.problem}` : null
  await output.one({
    contract_address: checksumAddress(token.contractAddress),
    token_id: token.tokenId,
    blockchain,
    ...blockData(block),
    standard,
    owner: shownAddress(owner),
    token_uri,
    metadata: 'metadata' in metadataOrProblem ? metadataOrProblem.metadata : null,
    royalty: royalty && { ...royalty, receiver: checksumAddress(royalty.receiver) },
    total_supply,
    max_supply,
    contradictions,
    not_readable: problem === null ? facts.not_readable : { ...facts.not_readable, metadata: problem },
  })
  for (const contradiction of contradictions) {
    deps.io.warn(safe(`The contract returned contradictory values: ${contradiction}.`))
  }
}

function toCard(record: DataRecord): RecordCard {
  const metadata = isRecord(record.metadata) ? record.metadata : {}
  const { name, description, image, attributes, ...otherMetadata } = metadata
  const royalty = record.royalty as Royalty | null
  const reasons = isRecord(record.not_readable) ? Object.values(record.not_readable) : []
  const time = String(record.block_time).replace('.000Z', 'Z')
  return [
    ['contract_address', record.contract_address],
    ['token_id', record.token_id],
    ['blockchain', record.blockchain],
    ['block', `${record.block_number} (${time})`],
    ['standard', STANDARDS[record.standard as keyof typeof STANDARDS]],
    ['name', shortText(name)],
    ['description', shortText(description)],
    ['owner', record.owner],
    ['token_uri', shortText(record.token_uri)],
    ['image', shortText(image)],
    ['attributes', formatAttributes(attributes)],
    [
      'other metadata',
      Object.entries(otherMetadata).map(([key, value]): CardRow => [shortText(key), shortText(value)]),
    ],
    ['royalty', royalty && royaltyText(royalty)],
    ['total_supply', record.total_supply],
    ['max_supply', record.max_supply],
    ['not_readable', reasons.join('\n')],
  ]
}

/** Formats a value: attributes of OpenSea's metadata standard as pairs, and any other value as text. */
function formatAttributes(attributes: unknown): unknown {
  if (!Array.isArray(attributes) || !attributes.every(isRecord)) return shortText(attributes)
  return attributes.map((attribute): CardRow => {
    const value = isTraitType(attribute.display_type) ? formatTraitValue(readAttribute(attribute)) : attribute.value
    return [shortText(attribute.trait_type ?? ''), shortText(value)]
  })
}
