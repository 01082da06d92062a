import type { GdnCommand } from '../command.ts'
import { apiAddress } from './common.ts'

export interface StoredFilesFlags {
  allowPrivateFiles?: boolean
  allowHtmlFiles?: boolean
  ipfsGateway?: string
  requireStoredFiles?: boolean
}

/** Adds flags that specify which files a backend accepts and from where the backend fetches them. */
export function addStoredFilesFlags(command: GdnCommand): void {
  command.switchFlag('--allow-private-files', 'Also fetch files from private addresses (for development)')
  command.switchFlag('--allow-html-files', 'Also store HTML files, from uploads and file URLs')
  command.valueFlag(
    '--ipfs-gateway <url>',
    'Fetch, verify and store ipfs:// files from this trustless gateway',
    apiAddress,
  )
  command.switchFlag('--require-stored-files', "Fail NFTs whose ipfs:// or ar:// files the backend can't store")
}

/**
 * Returns backend options from the flags or the environment. The backend's configuration file may contain the other
 * options.
 */
export function storedFilesOptions(flags: StoredFilesFlags, { GDN_IPFS_GATEWAY: gateway }: NodeJS.ProcessEnv) {
  const inEnvironment = gateway === undefined || gateway === '' ? undefined : apiAddress(gateway, 'GDN_IPFS_GATEWAY')
  const ipfsGateway = flags.ipfsGateway ?? inEnvironment
  return {
    allowPrivateFiles: flags.allowPrivateFiles ?? false,
    allowHtmlFiles: flags.allowHtmlFiles ?? false,
    requireStoredFiles: flags.requireStoredFiles ?? false,
    ipfsGateway,
  }
}

/** Returns the flags as arguments for `gdn serve`. */
export const storedFilesArgs = (flags: StoredFilesFlags): string[] => [
  ...(flags.allowPrivateFiles ? ['--allow-private-files'] : []),
  ...(flags.allowHtmlFiles ? ['--allow-html-files'] : []),
  ...(flags.ipfsGateway === undefined ? [] : ['--ipfs-gateway', flags.ipfsGateway]),
  ...(flags.requireStoredFiles ? ['--require-stored-files'] : []),
]
