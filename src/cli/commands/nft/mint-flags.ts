import type { Blockchain } from '../../../api/blockchains.ts'
import { tagProblem } from '../../../api/tag-problem.ts'
import { isTraitType, parseMaximum, parseTraitValue, type TraitType } from '../../../api/traits.ts'
import { flagError } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import type { UnknownColumns } from '../../../manifest/columns.ts'
import type { GdnCommand, Parse } from '../../command.ts'
import {
  type KeyValue,
  keyValue,
  notEmpty,
  type OutputFlags,
  type ServerFlags,
  type WaitFlags,
} from '../../flags/common.ts'
import type { EnsFlags } from '../../flags/ens.ts'
import type { OperationFlags } from '../../request/operate-once.ts'

/** An attribute. A typed trait also has a type. */
export interface AttributeFlag extends KeyValue {
  trait?: { display_type: TraitType; max_value: string | undefined }
}

/** The parsed flags that `nft mint` and `nft grant` share: an NFT's metadata, collection and receiver. */
export interface NftFlags extends OutputFlags, ServerFlags, WaitFlags, OperationFlags, EnsFlags {
  contract?: string
  blockchain?: Blockchain
  receiver?: string
  title?: string
  description?: string
  image?: string
  media?: KeyValue[]
  extra?: KeyValue[]
  attr?: AttributeFlag[]
  file?: string
  dryRun?: boolean
  yes?: boolean
}

export interface MintFlags extends NftFlags {
  run?: string
  chunkSize?: number
  rate?: number
  inOrder?: boolean
  dynamic?: boolean
  map?: KeyValue[]
  unknownColumns?: UnknownColumns
  allowDuplicates?: boolean
}

export interface GrantFlags extends NftFlags {
  sender?: string
}

export const NFT_ALIASES = {
  '--contract-address': '--contract',
  '--contract-addresses': '--contract',
  '--receiver-wallet-address': '--receiver',
} as const

export function addMetadataFlags(command: GdnCommand): GdnCommand {
  const group = 'Metadata'
  command.valueFlag('--title <text>', 'Title', { group })
  command.valueFlag('--description <text>', 'Description', { group })
  command.valueFlag('--image <url|path>', 'Same as --media image=…', { group, parse: notEmpty })
  const pairs = { group, parse: keyValue, repeatable: true }
  command.valueFlag('--media <key=url|path>', 'Add a file; repeatable', pairs)
  command.valueFlag('--extra <key=value>', 'Add an extra metadata key; repeatable', pairs)
  const attributes = { ...pairs, parse: Object.assign(parseAttribute, { takes: keyValue.takes }) }
  return command.valueFlag(
    '--attr <tag=value>',
    "Add an attribute or a typed trait ('tag(number)=5'); repeatable",
    attributes,
  )
}

/** Parses `tag=value`, or a typed trait such as `Power(number)=5` or `Power(number,max=100)=5`. */
const parseAttribute: Parse<AttributeFlag> = (raw, flag) => {
  const [, tag = '', inside = '', typedValue = ''] = /^([^=()]+)\(([^()]*)\)=(.*)$/s.exec(raw) ?? []
  const [type, max, ...more] = inside.split(',').map((part) => part.trim().toLowerCase())
  // Parentheses with any other content are part of the tag, as in `Size (cm)`.
  const { key, value: text } = isTraitType(type) ? { key: tag, value: typedValue } : keyValue(raw, flag)
  const pair = { key: key.trim(), value: text }
  if (pair.key === '') throw flagError(flag, `must be tag=value, not ${quoted(raw)}`)
  const misplaced = tagProblem(pair.key)
  if (misplaced !== null) {
    const hint = 'Write the type after the tag, as in Power(number,max=100)=72. To omit the type, use --attr Power=72.'
    throw flagError(flag, `the tag ${quoted(pair.key)} ${misplaced}`, hint)
  }
  if (!isTraitType(type)) return pair
  const maximum = max === undefined ? undefined : parseMaximum(type, max.replace(/^max *= */, ''))
  if ((max !== undefined && !/^max *=/.test(max)) || more.length > 0) {
    throw flagError(flag, `must have the form ${tag}(${type},max=100)=5, not ${quoted(raw)}`)
  }
  if (maximum !== undefined && 'problem' in maximum) throw flagError(flag, `max of "${tag}" ${maximum.problem}`)
  const value = parseTraitValue(type, maximum?.text, typedValue)
  if ('problem' in value) throw flagError(flag, `the value of "${tag}" ${value.problem}`)
  return { key: pair.key, value: value.text, trait: { display_type: type, max_value: maximum?.text } }
}
