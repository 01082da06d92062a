import { existsSync } from 'node:fs'
import { type Blockchain, chainIdOf, type EvmBlockchain, isEvm, KNOWN_NAMES } from '../../../api/blockchains.ts'
import { findRetirement, retirementText } from '../../../api/retired.ts'
import { GdnError } from '../../../core/errors.ts'
import { shellWord } from '../../../core/shell-word.ts'
import type { ChainSettings } from '../../../server/settings/types.ts'
import type { ChainOptions } from '../../../server/setup/with-chain.ts'
import type { GdnCommand } from '../../command.ts'
import {
  type BackendFlags,
  findConfigFile,
  resolveAdministeredDatabase,
  resolveDataDir,
} from '../../connect/data-dir.ts'
import { formatBackendFlags } from '../../connect/insert-backend-flags.ts'
import type { Deps } from '../../deps.ts'
import { blockchainName } from '../../flags/common.ts'
import type { Io } from '../../io/io.ts'

export const addBlockchainArgument = (command: GdnCommand): GdnCommand =>
  command.wordArgument('<blockchain>', KNOWN_NAMES)

/**
 * Returns the blockchain with a name.
 *
 * @throws GdnError `usage` if the name can't be that of a blockchain
 */
export const parseBlockchain = (name: string): Blockchain => blockchainName(name, '<blockchain>')

/**
 * Returns the EVM blockchain with a name.
 *
 * @throws GdnError `usage` if the name isn't that of an EVM blockchain
 */
export function parseEvmBlockchain(name: string): EvmBlockchain {
  const blockchain = parseBlockchain(name)
  if (isEvm(blockchain)) return blockchain
  throw new GdnError('usage', `transactions on ${blockchain} can't be listed: only EVM blockchains are supported`, {
    hint: 'Use the name of an EVM blockchain. Run `gdn chain list` to list the blockchains.',
  })
}

/** Warns if a network was retired and has a successor. */
export function warnIfRetired(io: Io, blockchain: EvmBlockchain): void {
  const retired = findRetirement(blockchain)
  if (retired === null) return
  const { successor } = retired
  io.warn(
    `${retirementText(blockchain, retired)}. Use ${successor} (chain ID ${chainIdOf(successor)}) for new collections.`,
  )
}

/**
 * Returns the backend whose networks the flags select.
 *
 * @throws GdnError `usage` if the data directory doesn't exist and no configuration is specified
 */
export async function resolveChainOptions(
  deps: Pick<Deps, 'env' | 'cwd' | 'io' | 'settings' | 'identify' | 'signals'>,
  flags: BackendFlags,
): Promise<ChainOptions> {
  if (
    flags.dataDir !== undefined &&
    findConfigFile(deps, flags) === undefined &&
    !existsSync(resolveDataDir(deps, flags))
  ) {
    throw new GdnError('usage', `${resolveDataDir(deps, flags)} does not exist`, {
      place: { flag: '--data-dir' },
      hint: 'Use the directory that contains backend.yaml, or specify the file with --config <file>.',
    })
  }
  return {
    ...(await resolveAdministeredDatabase(deps, flags)),
    credentialsDirectory: deps.env.CREDENTIALS_DIRECTORY,
    signal: deps.signals.signal,
  }
}

/** Returns the command that sets up a network for the backend that the flags select. */
export function setupCommand(
  blockchain: string,
  flags: BackendFlags,
  { adminKeystore }: { adminKeystore: string | null },
): string {
  const admin = adminKeystore === null ? '' : ` --admin-keystore ${shellWord(adminKeystore)}`
  return `gdn chain setup ${blockchain}${formatBackendFlags(flags)}${admin}`
}

/** Returns the `gdn chain setup` command. Includes an admin keystore unless the admin's key is in a remote signer. */
export const formatSetupOfSettings = (
  blockchain: string,
  flags: BackendFlags,
  { admin }: Pick<ChainSettings, 'admin'>,
): string => setupCommand(blockchain, flags, { adminKeystore: admin === undefined ? 'admin.json' : null })
