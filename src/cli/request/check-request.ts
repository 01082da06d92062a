import type * as z from 'zod/mini'
import { blockchainHint } from '../../api/blockchain-hint.ts'
import { isBlockchain } from '../../api/blockchains.ts'
import { findMisspelledKey } from '../../api/misspelled-key.ts'
import { type FieldIssue, formatPath, validate } from '../../api/validate.ts'
import { GdnError, type Place } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'

/** Flags by request field. */
const FLAG_BY_FIELD: Readonly<Record<string, string>> = {
  contract_address: '--contract',
  contract_addresses: '--contract',
  blockchain: '--blockchain',
  receiver_wallet_address: '--receiver',
  sender_wallet_address: '--sender',
  token_id: '--token-id',
  nft_gdn_id: '<nft_gdn_id>',
  wallet_address: '--wallet',
  name: '--name',
  description: '--description',
  image: '--image',
  enable_api: '--enable-api',
  enable_transfer: '--enable-transfer',
  is_locked: '--locked',
  royalty_bps: '--royalty',
  royalty_receiver: '--royalty-receiver',
  max_supply: '--max-supply',
}

const MAX_SHOWN_CHARACTERS = 60

/** Flags by metadata field. */
const FLAG_BY_METADATA_FIELD: Readonly<Record<string, string>> = {
  title: '--title',
  description: '--description',
  file_fields: '--media',
  attribute: '--attr',
}

/**
 * Validates a request against the API contract before anything is sent. Reports all problems at once. Each problem
 * names its flag or, in a file, its field.
 *
 * @throws GdnError `invalid_input`
 */
export function checkRequest<Schema extends z.ZodMiniType>(
  schema: Schema,
  request: Record<string, unknown>,
  file: string | null,
): z.output<Schema> {
  const result = validate(schema, request)
  if (result.ok) {
    const misspelled = file === null ? null : findMisspelledKey(request)
    if (misspelled === null) return result.value
    const { path, message, hint } = misspelled
    throw new GdnError('invalid_input', message, {
      place: { file: file ?? '', field: formatPath(path) },
      hint: `Nothing was sent. ${hint}`,
    })
  }
  const issues = result.issues.map((issue) => toProblem(issue, request, file))
  const [first] = issues
  throw new GdnError('invalid_input', first?.message ?? 'is not a valid request', {
    place: first?.place,
    hint: first?.hint,
    details: { issues },
  })
}

function toProblem(issue: FieldIssue, request: Record<string, unknown>, file: string | null) {
  const name = String(issue.path[0] ?? '')
  const value = request[name]
  const isUnknown = name === 'blockchain' && typeof value === 'string' && !isBlockchain(value)
  return {
    place: issuePlace(issue, request, file),
    message: file === null && isShown(name, value) ? `"${value}" ${issue.message}` : issue.message,
    ...(isUnknown ? { hint: blockchainHint(value) } : {}),
  }
}

/**
 * Returns whether the error quotes a value. It quotes invalid addresses, as other flags' errors do, but nothing as long
 * as a private key.
 */
const isShown = (name: string, value: unknown) =>
  /_(?:address|receiver)$/.test(name) &&
  typeof value === 'string' &&
  value !== '' &&
  value.length <= MAX_SHOWN_CHARACTERS

function issuePlace({ path, field }: FieldIssue, request: Record<string, unknown>, file: string | null): Place {
  if (file !== null) return { file, field }
  const [name, , inMetadata, index] = path.map(String)
  if (name !== 'metadata') return { flag: FLAG_BY_FIELD[name ?? ''] ?? field }
  if (inMetadata === undefined) return { flag: 'the metadata' }
  if (inMetadata === 'file_fields' && index !== undefined)
    return { flag: mediaFlag(findFileKey(request, Number(index))) }
  if (inMetadata === 'attribute' && index !== undefined) return { flag: attributeFlag(findTag(request, Number(index))) }
  return { flag: FLAG_BY_METADATA_FIELD[inMetadata] ?? `--extra ${inMetadata}` }
}

/** Returns the flag that adds a file with the given key to an NFT. */
export const mediaFlag = (key: unknown): string =>
  key === 'image' ? '--image' : `--media ${typeof key === 'string' ? key : ''}`.trimEnd()

const attributeFlag = (tag: unknown): string => (typeof tag === 'string' ? `--attr ${shellWord(tag)}` : '--attr')

function findTag({ metadata }: Record<string, unknown>, index: number): unknown {
  const [first] = (Array.isArray(metadata) ? metadata : []) as { attribute?: { tag?: unknown }[] }[]
  return first?.attribute?.[index]?.tag
}

function findFileKey({ metadata }: Record<string, unknown>, index: number): unknown {
  const [first] = (Array.isArray(metadata) ? metadata : []) as { file_fields?: { key?: unknown }[] }[]
  return first?.file_fields?.[index]?.key
}
