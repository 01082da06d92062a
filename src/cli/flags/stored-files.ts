import { type GdnCommand, switchFlag, valueFlag } from '../command.ts'
import { apiAddress } from './parse.ts'

export interface StoredFilesFlags {
  allowPrivateFiles?: boolean
  allowHtmlFiles?: boolean
  ipfsGateway?: string
  requireStoredFiles?: boolean
}

/** Which files of NFTs a backend takes, and where it gets them. */
export function addStoredFilesFlags(command: GdnCommand): void {
  switchFlag(command, '--allow-private-files', 'Fetch files from private addresses too; for development')
  switchFlag(command, '--allow-html-files', 'Store HTML files too, from uploads and file URLs')
  valueFlag(command, '--ipfs-gateway <url>', 'Fetch ipfs:// URLs from this trustless gateway, check and store them', {
    parse: apiAddress,
  })
  switchFlag(command, '--require-stored-files', 'Mint no NFT with an ipfs:// or ar:// file that is not stored here')
}

/** The flags, else the environment, as the options of a backend. What neither says, its settings file may. */
export function storedFilesOptions(flags: StoredFilesFlags, { GDN_IPFS_GATEWAY: named }: NodeJS.ProcessEnv) {
  const inEnvironment = named === undefined || named === '' ? undefined : apiAddress(named, 'GDN_IPFS_GATEWAY')
  const ipfsGateway = flags.ipfsGateway ?? inEnvironment
  return {
    allowPrivateFiles: flags.allowPrivateFiles ?? false,
    allowHtmlFiles: flags.allowHtmlFiles ?? false,
    requireStoredFiles: flags.requireStoredFiles ?? false,
    ...(ipfsGateway === undefined ? {} : { ipfsGateway }),
  }
}

/** The flags as arguments of `gdn serve`. */
export const storedFilesArgs = (flags: StoredFilesFlags): string[] => [
  ...(flags.allowPrivateFiles ? ['--allow-private-files'] : []),
  ...(flags.allowHtmlFiles ? ['--allow-html-files'] : []),
  ...(flags.ipfsGateway === undefined ? [] : ['--ipfs-gateway', flags.ipfsGateway]),
  ...(flags.requireStoredFiles ? ['--require-stored-files'] : []),
]
