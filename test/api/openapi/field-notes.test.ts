import { expect, test } from 'vitest'
import { loadEndpoints } from '../../../src/api/endpoints.ts'
import { ENDPOINT_NOTES, FIELD_NOTES } from '../../../src/api/openapi/field-notes.ts'
import { buildOperation } from '../../../src/api/openapi/operation.ts'

/** What wraps the content of a request or a response. */
const WRAPPERS = [
  ...['collections', 'costs', 'events', 'fees', 'message', 'nft', 'nfts', 'provenances', 'references', 'request'],
  ...['requests', 'response', 'transactions'],
]

/**
 * For each field, the extension endpoints that show its general note from `FIELD_NOTES`. A new endpoint gets its own
 * note in `ENDPOINT_NOTES`, or is added here after somebody has checked that the general note fits.
 */
const GENERAL_NOTES: Readonly<Record<string, string>> = {
  accepted_date: 'creatednft updatednft freezenft burnnft commitprovenance getreferences',
  after: 'getnftowners getcontentreferences',
  aliased: 'aliasreferences',
  attribute: 'creatednft updatednft',
  block_date: 'getnfthistory',
  block_number: 'getprovenances',
  blockchain:
    'creatednft getnftowners getsupply getreferences getcontentreferences relabelreferences aliasreferences setrunmaxcost setrunmaxfee',
  changes: 'getnfthistory',
  changes_left_out: 'getnfthistory',
  contract_address:
    'creatednft updatednft getcollections freezenft burnnft commitprovenance getprovenances getnftowners getsupply getreferences getcontentreferences relabelreferences aliasreferences setrunmaxcost setrunmaxfee',
  created: 'creatednft updatednft freezenft burnnft commitprovenance',
  currency: 'gettransactions getnfthistory getfees getruncosts',
  description: 'creatednft updatednft',
  digest: 'getreferences',
  display_type: 'creatednft updatednft',
  enable_api: 'getcollections',
  enable_transfer: 'getcollections',
  error: 'getcollections gettransactions getnfthistory',
  explorer_url: 'gettransactions getnfthistory',
  fee_paid: 'gettransactions',
  file_fields: 'creatednft updatednft',
  first_token_id: 'getprovenances',
  from: 'getnfthistory',
  gas_used: 'gettransactions',
  holder_wallet_address: 'burnnft',
  image: 'getcollections',
  is_free: 'getreferences',
  is_locked: 'getcollections',
  is_simulated: 'gettransactions getnfthistory getfees getruncosts',
  key: 'creatednft updatednft',
  max_fee: 'setrunmaxfee',
  max_value: 'creatednft updatednft',
  metadata: 'creatednft',
  next_offset: 'getnfthistory',
  nft_gdn_id: 'updatednft burnnft getnfthistory getreferences getcontentreferences',
  nft_gdn_ids: 'creatednft',
  offset: 'getnfthistory',
  only_if_unset: 'setrunmaxfee',
  operation: 'getreferences getcontentreferences relabelreferences',
  pending_reason: 'getcollections gettransactions',
  provenance: 'commitprovenance getprovenances',
  receiver_name: 'creatednft',
  reference_alias: 'getreferences',
  reference_id: 'creatednft updatednft freezenft burnnft commitprovenance getreferences getcontentreferences',
  reference_ids: 'creatednft',
  reference_kind: 'getreferences',
  reference_kinds: 'creatednft',
  reference_label: 'creatednft getreferences aliasreferences',
  relabeled: 'relabelreferences',
  replaces_label: 'relabelreferences',
  replaces_revision: 'updatednft',
  replaces_revisions: 'freezenft',
  status: 'getcollections getprovenances gettransactions getnfthistory getreferences',
  tag: 'creatednft updatednft',
  title: 'creatednft updatednft',
  to: 'getnfthistory',
  transaction_gdn_id:
    'updatednft getcollectionsettings freezenft burnnft commitprovenance getprovenances gettransactions getreferences',
  transaction_gdn_ids: 'getcollections getcollectionsettings gettransactions',
  transaction_hash: 'gettransactions getnfthistory',
  url: 'creatednft updatednft files',
  value: 'creatednft updatednft',
  wallet_address: 'getcollections getcollectionsettings',
}

interface Field {
  endpoint: string
  isExtension: boolean
  name: string
  description: string | undefined
}

/** Yields the fields of a schema and of its parts. */
function* fieldsOf(schema: unknown): Generator<[string, { description?: string }]> {
  if (typeof schema !== 'object' || schema === null) return
  if ('properties' in schema) yield* Object.entries(schema.properties as Record<string, { description?: string }>)
  for (const [key, part] of Object.entries(schema)) if (key !== 'example') yield* fieldsOf(part)
}

const fields = Object.values(await loadEndpoints()).flatMap((endpoint): Field[] => {
  const { requestBody, responses } = buildOperation(endpoint as never) as {
    requestBody: object
    responses: { 200: object }
  }
  return [...fieldsOf(requestBody), ...fieldsOf(responses[200])].map(([name, { description }]) => ({
    endpoint: endpoint.name,
    isExtension: endpoint.origin === 'extension',
    name,
    description,
  }))
})

test('every field of a request or a response is described', () => {
  const missing = fields.filter(({ name, description }) => description === undefined && !WRAPPERS.includes(name))
  expect([...new Set(missing.map(({ endpoint, name }) => `${endpoint}: ${name}`))]).toEqual([])
})

test('an extension shows the usual note of a field only where that was chosen', () => {
  const usual: Record<string, string[]> = {}
  for (const { endpoint, isExtension, name, description } of fields) {
    if (!isExtension || description === undefined || description !== FIELD_NOTES[name]) continue
    if (ENDPOINT_NOTES[endpoint]?.[name] !== undefined) continue
    usual[name] ??= []
    if (!usual[name].includes(endpoint)) usual[name].push(endpoint)
  }
  expect(Object.fromEntries(Object.entries(usual).map(([name, endpoints]) => [name, endpoints.join(' ')]))).toEqual(
    GENERAL_NOTES,
  )
})

test('every note is shown', () => {
  const shown = new Set(fields.map(({ name }) => name))
  expect(Object.keys(FIELD_NOTES).filter((name) => !shown.has(name))).toEqual([])
  for (const [endpoint, notes] of Object.entries(ENDPOINT_NOTES)) {
    const own = new Set(fields.filter((field) => field.endpoint === endpoint).map(({ name }) => name))
    expect(
      Object.keys(notes).filter((name) => !own.has(name)),
      endpoint,
    ).toEqual([])
  }
})
