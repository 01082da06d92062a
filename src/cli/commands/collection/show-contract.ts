import { checksumAddress, ZERO_ADDRESS } from '../../../api/address.ts'
import { isEvm } from '../../../api/blockchains.ts'
import { type ContractFacts, readContract } from '../../../verify/contract/read-contract.ts'
import { parseMetadata, parseMetadataPlace } from '../../../verify/contract/token-uri.ts'
import { classifyCode } from '../../../verify/known-contracts.ts'
import { blockData, type ContractTarget, solanaError, withContract } from '../../connect/with-contract.ts'
import type { Deps } from '../../deps.ts'
import type { OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { royaltyText, STANDARDS, shortText, shownAddress } from '../../render/contract-text.ts'
import { type CardRow, createOutput, type DataRecord, type RecordCard, type View } from '../../render/output.ts'

const FIELDS = [
  ...['contract_address', 'blockchain', 'block_number', 'block_hash', 'block_time'],
  ...['name', 'symbol', 'standard', 'erc165', 'interfaces', 'code_kind', 'code_bytes', 'proxy'],
  ...[
    'owner',
    'pending_owner',
    'roles',
    'admins',
    'royalty',
    'royalty_token',
    'total_supply',
    'max_supply',
    'max_supply_function',
  ],
  ...['contract_uri', 'transfer_validator', 'contradictions', 'not_readable'],
]

const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'contract_address', card: toCard }

type ShownContract = ContractTarget & { flags: OutputFlags }

/** Shows the data that any contract reports about itself, read from its chain at one block. */
export async function showContract(deps: Deps, { contract, blockchain, ...target }: ShownContract): Promise<void> {
  const output = createOutput(deps.io, target.flags, VIEW)
  if (!isEvm(blockchain)) throw solanaError(blockchain)
  const record = await withContract(
    deps,
    { ...target, blockchain, contract: contract.toLowerCase() },
    async ({ reader, block, code }) => ({
      contract_address: checksumAddress(contract),
      blockchain,
      ...blockData(block),
      code_kind: classifyCode(code),
      ...checksumAddresses(await readContract(reader, code)),
    }),
  )
  await output.one(record)
  for (const contradiction of record.contradictions) {
    deps.io.warn(safe(`The contract returned contradictory values: ${contradiction}.`))
  }
}

function checksumAddresses(facts: ContractFacts) {
  const { proxy, royalty, roles, admins } = facts
  return {
    ...facts,
    owner: shownAddress(facts.owner),
    pending_owner: shownAddress(facts.pending_owner),
    transfer_validator: shownAddress(facts.transfer_validator),
    admins: admins?.map(checksumAddress) ?? null,
    royalty: royalty && { ...royalty, receiver: checksumAddress(royalty.receiver) },
    roles: roles?.map((role) => ({ ...role, members: role.members?.map(checksumAddress) ?? null })) ?? null,
    proxy: proxy && {
      ...proxy,
      implementation: shownAddress(proxy.implementation),
      beacon: shownAddress(proxy.beacon),
      admin: shownAddress(proxy.admin),
    },
  }
}

type ChecksummedFacts = ReturnType<typeof checksumAddresses>

/** Returns a contract as a card. The fields that can't be read are at the end, with the reasons. */
function toCard(record: DataRecord): RecordCard {
  const facts = record as unknown as ChecksummedFacts & { block_number: number; block_time: string }
  const { proxy, royalty, roles, admins, standard, not_readable } = facts
  const lines = (values: readonly (string | null)[]) => values.filter((value) => value !== null).join('\n')
  return [
    ['contract_address', record.contract_address],
    ['blockchain', record.blockchain],
    ['block', `${facts.block_number} (${facts.block_time.replace('.000Z', 'Z')})`],
    ['name', facts.name],
    ['symbol', facts.symbol],
    ['standard', standard === null ? null : STANDARDS[standard]],
    ['ERC-165', { supported: null, not_supported: 'not supported', contradictory: 'contradictory' }[facts.erc165]],
    ['interfaces', facts.interfaces],
    ['code', `${facts.code_bytes} bytes${record.code_kind === null ? '' : `, ${record.code_kind}`}`],
    ['proxy', proxy?.kind],
    ['implementation', proxy?.implementation],
    ['beacon', proxy?.beacon],
    ['proxy admin', proxy?.admin],
    ['owner', facts.owner === ZERO_ADDRESS ? 'none: the ownership was renounced' : facts.owner],
    ['pending_owner', facts.pending_owner === ZERO_ADDRESS ? null : facts.pending_owner],
    ...(roles ?? []).map(({ role, members, problem }): CardRow => {
      return [role, lines([...(members ?? []), problem]) || 'no members']
    }),
    ['admins', lines(admins ?? [])],
    ['royalty', royalty && `${royaltyText(royalty)} (token ${facts.royalty_token})`],
    ['total_supply', facts.total_supply],
    ['max_supply', facts.max_supply],
    ['contract_uri', facts.contract_uri && shortText(facts.contract_uri)],
    ['metadata', metadataIn(facts.contract_uri)],
    ['transfer_validator', facts.transfer_validator === ZERO_ADDRESS ? 'none' : facts.transfer_validator],
    ['not_readable', lines(Object.values(not_readable))],
  ]
}

/** Returns fields from metadata that is stored in the contract itself, such as its description and banner. */
function metadataIn(uri: string | null): CardRow[] {
  const place = uri === null ? null : parseMetadataPlace(uri)
  const parsed = place?.kind === 'data' && place.content !== null ? parseMetadata(place.content) : null
  if (parsed === null || 'problem' in parsed) return []
  return Object.entries(parsed.metadata).map(([key, value]): CardRow => [shortText(key), shortText(value)])
}
