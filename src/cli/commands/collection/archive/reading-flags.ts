import { type ArchiveLimits, DEFAULT_LIMITS } from '../../../../archive/limits.ts'
import type { Server } from '../../../../config/server.ts'
import { gatewayBase } from '../../../../core/ipfs-url.ts'
import { trimSlashes } from '../../../../core/parse-url.ts'
import { type GdnCommand, requiredFlagError } from '../../../command.ts'
import { byteSize, httpAddress, integer } from '../../../flags/common.ts'
import { addChainContractFlags, type ChainContractFlags } from '../chain-contract.ts'

export interface ReadingFlags extends ChainContractFlags {
  gateway?: string[]
  arweaveGateway?: string
  block?: number
  maxFileSize?: number
  maxSize?: number
  allowPrivateFiles?: boolean
}

const READING_GROUP = 'Reading'
const LIMITS_GROUP = 'Limits'
const DEFAULT_ARWEAVE_GATEWAY = 'https://arweave.net'

/** Adds the flags that select a contract, and the flags for reading its files. */
export function addReadingFlags(command: GdnCommand): GdnCommand {
  addChainContractFlags(command, READING_GROUP)
  const reading = { group: READING_GROUP }
  command.valueFlag('--block <n>', 'Block at which to read the tokens (the last final block)', {
    ...reading,
    parse: integer(0, Number.MAX_SAFE_INTEGER),
  })
  command.valueFlag('--gateway <url>', "Trustless IPFS gateway; repeatable (the server's gateway)", {
    ...reading,
    parse: httpAddress,
    repeatable: true,
  })
  command.valueFlag('--arweave-gateway <url>', `Gateway for ar URLs (${DEFAULT_ARWEAVE_GATEWAY})`, {
    ...reading,
    parse: httpAddress,
  })
  command.switchFlag(
    '--allow-private-files',
    'Also fetch files from private addresses (for development)',
    READING_GROUP,
  )
  command.valueFlag('--max-file-size <size>', 'Maximum size of a file, such as 50MB (100MiB)', {
    group: LIMITS_GROUP,
    parse: byteSize,
  })
  return command.valueFlag('--max-size <size>', 'Maximum total size of the files (20GiB)', {
    group: LIMITS_GROUP,
    parse: byteSize,
  })
}

export const toArchiveLimits = ({ maxFileSize, maxSize }: ReadingFlags): ArchiveLimits => ({
  ...DEFAULT_LIMITS,
  maxFileBytes: maxFileSize ?? DEFAULT_LIMITS.maxFileBytes,
  maxTotalBytes: maxSize ?? DEFAULT_LIMITS.maxTotalBytes,
})

/** Returns the base URLs of the gateways; an empty list if the user specifies a node but no gateway. */
export function resolveGateways({ gateway }: ReadingFlags, server: Pick<Server, 'baseUrl'> | null): string[] {
  const urls = gateway ?? (server === null ? [] : [server.baseUrl])
  return urls.map(gatewayBase)
}

export const noGatewayError = () =>
  requiredFlagError(
    '--gateway',
    'Add the URL of an IPFS gateway that returns blocks, such as https://trustless-gateway.link.',
  )

export const resolveArweaveGateway = ({ arweaveGateway }: ReadingFlags): string =>
  trimSlashes(arweaveGateway ?? DEFAULT_ARWEAVE_GATEWAY)
