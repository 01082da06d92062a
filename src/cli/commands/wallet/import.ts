import { isSameAddress } from '../../../api/same-address.ts'
import { walletsDirectory } from '../../../config/paths.ts'
import type { AddressBook } from '../../../wallet/address-book.ts'
import { readName } from '../../../wallet/names.ts'
import { newNames } from '../../../wallet/new-names.ts'
import { reserve } from '../../../wallet/reservation.ts'
import { storeKey } from '../../../wallet/store-key.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addStateDirFlag,
  blockchainName,
  notEmpty,
  type OutputFlags,
  type ServerFlags,
} from '../../flags/common.ts'
import { createOutput, type View } from '../../render/output.ts'
import { type KeyFlags, readImportedKey } from './given-key.ts'
import { addNewPasswordFlags, type NewPasswordFlags, newPassword } from './password.ts'
import { WALLET_VIEW, walletRecord } from './wallet-record.ts'

export interface ImportFlags extends OutputFlags, NewPasswordFlags, KeyFlags, Pick<ServerFlags, 'stateDir'> {
  name?: string
}

const VIEW: View = { ...WALLET_VIEW, fields: [...WALLET_VIEW.fields, 'status'] }

export function command(deps: Deps, run = importWallet): GdnCommand {
  return new GdnCommand({
    about:
      'You can import a private key, a mnemonic, a Solana keypair file, or a keystore from geth, cast, MetaMask or gdn. The command stores the key in an encrypted keystore, as gdn wallet generate does. An imported keystore keeps its password. Without a file, the command prompts for the key with hidden input, or reads the key from a pipe. There is no flag for the key, because other users of the machine can read arguments. If a wallet with this name already has the key, the command changes nothing.',
    examples: [
      ['Type or paste a private key or a mnemonic', 'gdn wallet import --name alice'],
      ['Import a keystore from cast', 'gdn wallet import ~/.foundry/keystores/deployer --name deployer'],
      ['Import a Solana keypair', 'gdn wallet import ~/.config/solana/id.json --name payer'],
      [
        'Import the second account of a mnemonic from a password manager',
        'pass show mnemonic | gdn wallet import --name second \\',
        `  --path "m/44'/60'/0'/0/1" --password-file pw.txt`,
      ],
    ],
  })
    .argument('[file]')
    .valueFlag('--name <name>', 'Name of the wallet (wallet-1, wallet-2, …)', notEmpty)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of a mnemonic (EVM)', blockchainName)
    .valueFlag(
      '--path <derivation>',
      "Derivation path of a mnemonic (m/44'/60'/0'/0/0; Solana m/44'/501'/0'/0')",
      notEmpty,
    )
    .with(addNewPasswordFlags, addStateDirFlag, addOutputFlags)
    .action(async (file: string | undefined, flags: ImportFlags) => await run(deps, file, flags))
}

export async function importWallet(deps: Deps, file: string | undefined, flags: ImportFlags): Promise<void> {
  const { io, signals } = deps
  const output = createOutput(io, flags, VIEW)
  const folder = walletsDirectory(deps.env)
  const book = await deps.addresses()
  const typedName = flags.name === undefined ? undefined : readName(flags.name, { flag: '--name' })
  const { key, password: knownPassword } = await readImportedKey(
    deps,
    file === undefined || file === '-' ? null : file,
    flags,
  )

  const isUnchanged = async (): Promise<boolean> => {
    const holder = findKeystoreByAddress(book, key.address, typedName)
    if (holder === undefined) return false
    await output.one({ ...walletRecord(holder), status: 'unchanged' })
    io.note(`@${holder.name} already has this key. Its file and password are unchanged.`)
    return true
  }
  if (await isUnchanged()) return
  if (typedName !== undefined) book.refuseTaken(typedName)
  const [name = ''] = newNames(book.names(), typedName, undefined)
  const password = knownPassword ?? (await newPassword(io, flags))
  const reservation = await reserve(folder, name).catch(async (error: unknown) => {
    // Another process may have imported the key since the first check.
    if (await isUnchanged()) return null
    throw error
  })
  if (reservation === null) return
  const wallet = await store(deps, { key, password, reservation, signal: signals.signal })
  await output.one({ ...walletRecord(wallet), status: 'imported' })
  if (wallet.name !== name) io.warn(`The name @${name} was taken in the meantime. The wallet is named @${wallet.name}.`)
  io.note('Keep both the file and its password.')
  io.note(`Use @${wallet.name} instead of its address in any command, such as --receiver @${wallet.name}.`)
}

async function store(deps: Deps, options: Parameters<typeof storeKey>[0]) {
  const progress = await deps.io.progress('Saving the key and checking that it can be read')
  try {
    return await storeKey(options)
  } finally {
    progress.stop()
  }
}

/** Returns the keystore with an address and, if a name is given, with this name. */
function findKeystoreByAddress(book: AddressBook, address: string, name: string | undefined) {
  for (const wallet of book.list()) {
    const { kind, file, address: its } = wallet
    if (kind !== 'keystore' || file === null || its === null || (name !== undefined && wallet.name !== name)) continue
    if (isSameAddress(its, address)) return { name: wallet.name, address: its, file }
  }
  return undefined
}
