import type { Blockchain } from '../../../api/blockchains.ts'
import type { UnknownColumns } from '../../../manifest/columns.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import type { OutputFlags, ServerFlags } from '../../flags/common.ts'
import type { EnsFlags } from '../../flags/ens.ts'
import { type KeyValue, keyValue, notEmpty } from '../../flags/parse.ts'
import type { WaitFlags } from '../../flags/wait.ts'
import type { OperationFlags } from '../../request/operate-once.ts'

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
  attr?: KeyValue[]
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
  valueFlag(command, '--title <text>', 'Title', { group })
  valueFlag(command, '--description <text>', 'Description', { group })
  valueFlag(command, '--image <url|path>', 'Same as --media image=…', { group, parse: notEmpty })
  const pairs = { group, parse: keyValue, repeatable: true }
  valueFlag(command, '--media <key=url|path>', 'Add a file; repeatable', pairs)
  valueFlag(command, '--extra <key=value>', 'Add an extra metadata key; repeatable', pairs)
  return valueFlag(command, '--attr <tag=value>', 'Add an attribute; repeatable', pairs)
}
