import type { Blockchain } from '../../../../api/blockchains.ts'
import { flagError, GdnError } from '../../../../core/errors.ts'
import type { GdnCommand, Parse } from '../../../command.ts'
import type { NodeFlags } from '../../../connect/open-network.ts'
import { addReaderFlags } from '../../../connect/open-verifier.ts'
import {
  addOutputFlags,
  addressOrName,
  addServerFlags,
  addTimeoutFlag,
  blockchainName,
  httpAddress,
  integer,
  notEmpty,
  type OutputFlags,
  percentage,
  type ServerFlags,
} from '../../../flags/common.ts'
import { addEnsFlags, type EnsFlags } from '../../../flags/ens.ts'
import { addPasswordFlag } from '../../wallet/password.ts'

/** The settings that can be changed. The property names are those of Commander's options. */
export interface SettingFlags {
  /** The royalty in basis points (1/10,000). */
  royalty?: number
  royaltyReceiver?: string
  image?: string
  banner?: string
  description?: string
  externalLink?: string
  contractUri?: string
  enableApi?: boolean
  enableTransfer?: boolean
  newOwner?: string
  acceptOwner?: boolean
  freeze?: boolean
  maxSupply?: number
}

export interface SetFlags extends SettingFlags, OutputFlags, ServerFlags, NodeFlags, EnsFlags {
  blockchain?: Blockchain
  wallet?: string
  passwordFile?: string
  safe?: string
  dryRun?: boolean
  yes?: boolean
  timeout?: number
}

const SETTINGS_GROUP = 'Settings'

export function addSetFlags(command: GdnCommand): void {
  const settingFlag = (flags: string, description: string, parse?: Parse<unknown>) =>
    command.valueFlag(flags, description, { group: SETTINGS_GROUP, parse })
  settingFlag('--royalty <percent>', 'Royalty on sales, such as 5%; 0% removes the royalty', percentage)
  settingFlag(
    '--royalty-receiver <address>',
    'Address, @name or ENS name that receives the royalty (the current receiver, or else the owner)',
    addressOrName,
  )
  settingFlag('--description <text>', 'Description of the collection')
  settingFlag('--image <file-or-url>', 'Image of the collection', notEmpty)
  settingFlag('--banner <file-or-url>', 'Banner of the collection', notEmpty)
  settingFlag('--external-link <url>', 'Website of the collection', httpAddress)
  settingFlag(
    '--contract-uri <uri>',
    "URI of the complete metadata; can't be combined with --image, --banner, --description or --external-link",
    notEmpty,
  )
  settingFlag('--max-supply <n>', 'Lower the maximum number of NFTs', integer(1, Number.MAX_SAFE_INTEGER))
  command.eitherFlag('enable-api', 'Let the API mint NFTs', "Don't let the API mint NFTs", SETTINGS_GROUP)
  command.eitherFlag('enable-transfer', 'Let the API transfer NFTs', "Don't let the API transfer NFTs", SETTINGS_GROUP)
  settingFlag('--new-owner <address>', 'Offer ownership to this address, @name or ENS name', addressOrName)
  command.switchFlag('--accept-owner', 'Accept ownership that was offered to the wallet', SETTINGS_GROUP)
  command.switchFlag('--freeze', 'Freeze the metadata of all NFTs permanently', SETTINGS_GROUP)
  command.valueFlag('--wallet <name-or-file>', "The owner's keystore: @name or a file", notEmpty)
  addPasswordFlag(command)
  command.valueFlag(
    '--safe <file>',
    'Write the changes to a new file for the Safe that owns the collection, without sending them',
    notEmpty,
  )
  command.valueFlag('-b, --blockchain <name>', 'Blockchain of the collection', blockchainName)
  command.switchFlag('--dry-run', 'Show the changes and their maximum cost without sending them')
  command.switchFlag('-y, --yes', "Don't prompt")
  addTimeoutFlag(command, 'How long the command may take (5m for sending and waiting)')
  command.valueFlag('--rpc-url-file <file>', 'File with the JSON-RPC URL of the network', notEmpty)
  addEnsFlags(command)
  addReaderFlags(command)
  addServerFlags(command)
  addOutputFlags(command)
}

/** Rejects flags that contradict each other. Also rejects a command without changes. */
export function checkSetFlags(flags: SetFlags): void {
  const { contractUri, image, banner, description, externalLink, newOwner, acceptOwner, safe } = flags
  if (safe === '-') throw flagError('--safe', 'must be a file, not standard output', 'Use the path of a new file.')
  for (const [flag, value] of [
    ['--wallet', flags.wallet],
    ['--password-file', flags.passwordFile],
  ] as const) {
    if (safe === undefined || value === undefined) continue
    throw flagError(
      '--safe',
      `can't be used with ${flag}, because the owners of the Safe sign the changes`,
      `Omit ${flag}.`,
    )
  }
  if (contractUri !== undefined && [image, banner, description, externalLink].some((value) => value !== undefined)) {
    throw new GdnError('usage', "can't be combined with flags that change the same metadata", {
      place: { flag: '--contract-uri' },
      hint: 'Use --contract-uri alone, or --image, --banner, --description and --external-link.',
    })
  }
  const { royalty, royaltyReceiver, enableApi, enableTransfer, freeze, maxSupply } = flags
  const otherValues = [royalty, royaltyReceiver, enableApi, enableTransfer, freeze, maxSupply, contractUri, newOwner]
  const otherSettings = [...otherValues, image, banner, description, externalLink].filter(
    (value) => value !== undefined,
  )
  if (acceptOwner && otherSettings.length > 0) {
    throw new GdnError('usage', "can't be combined with other settings", {
      place: { flag: '--accept-owner' },
      hint: 'Accept the ownership first. Then run the command again to change the other settings.',
    })
  }
  if (!acceptOwner && otherSettings.length === 0) {
    throw new GdnError('usage', 'no setting is specified', {
      hint: 'Add a setting, such as --royalty 5%. `gdn collection set --help` lists the settings.',
    })
  }
}
