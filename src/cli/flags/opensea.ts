import type { GdnCommand } from '../command.ts'
import { apiAddress, notEmpty } from './common.ts'

export interface OpenSeaFlags {
  openseaKeyFile?: string
  openseaUrl?: string
}

export interface RefreshingFlags extends OpenSeaFlags {
  refresh?: boolean
}

const MARKETPLACE_GROUP = 'Marketplace'

/** Adds the flags for OpenSea's API. */
export function addOpenSeaFlags(command: GdnCommand): GdnCommand {
  command.valueFlag('--opensea-key-file <file>', 'File with the OpenSea API key', {
    group: MARKETPLACE_GROUP,
    parse: notEmpty,
  })
  return command.valueFlag('--opensea-url <url>', 'URL of another server with the OpenSea API', {
    group: MARKETPLACE_GROUP,
    parse: apiAddress,
  })
}

/** Adds `--refresh` and the flags for OpenSea's API. */
export function addRefreshFlags(command: GdnCommand): GdnCommand {
  command.switchFlag('--refresh', 'Refresh the changed metadata on OpenSea afterwards', MARKETPLACE_GROUP)
  return addOpenSeaFlags(command)
}
