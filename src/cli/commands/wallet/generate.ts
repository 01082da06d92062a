import { walletsDirectory } from '../../../config/paths.ts'
import { flagError } from '../../../core/errors.ts'
import { generateKey } from '../../../wallet/new-key.ts'
import { newNames } from '../../../wallet/new-names.ts'
import { type NameReservation, reserve } from '../../../wallet/reservation.ts'
import { type NewWallet, storeKey } from '../../../wallet/store-key.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, blockchainName, integer, notEmpty } from '../../flags/common.ts'
import { createOutput, type DataRecord } from '../../render/output.ts'
import { addAccountFlags } from './account.ts'
import { createOnlineGenerator } from './generate-online.ts'
import type { GenerateFlags, WalletGenerator } from './generator.ts'
import { addNewPasswordFlags, newPassword } from './password.ts'
import { keyKind, WALLET_VIEW, walletRecord } from './wallet-record.ts'

const MAX_WALLETS = 1000

export function command(deps: Deps, run = generate): GdnCommand {
  return new GdnCommand({
    about:
      'The server generates the key and returns it once. With --offline, gdn generates the key on this machine and sends nothing to any server. gdn saves the key in a keystore file (Web3 Secret Storage, version 3), encrypted with a password that you enter twice. geth, cast, MetaMask and ethers can open the file. gdn prepares the keystore before it sends the request, because the response is the only copy of the key. In every command, you can use @name instead of the address.',
    examples: [
      ['Generate a wallet', 'gdn wallet generate --name alice --email me@example.com'],
      ['Use the wallet as a receiver', 'gdn nft mint --receiver @alice --title Dawn'],
      ['Generate a Solana wallet on this machine', 'gdn wallet generate --offline -b solana --name payer'],
      [
        'Generate ten wallets for a test, and print their addresses',
        'gdn wallet generate --local --count 10 --name buyer \\',
        '  --password-file pw.txt -o ids',
      ],
    ],
  })
    .valueFlag('--name <name>', 'Name of the wallet (wallet-1, wallet-2, …)', notEmpty)
    .valueFlag('--count <n>', 'Number of wallets, named <name>-1, <name>-2, …', integer(1, MAX_WALLETS))
    .switchFlag('--offline', 'Generate the key on this machine, without a server')
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the wallet, with --offline (EVM)', blockchainName)
    .with(addNewPasswordFlags)
    .switchFlag('--show-private-key', 'Also print the private key')
    .with(addAccountFlags, addServerFlags, addOutputFlags)
    .action(async (flags: GenerateFlags) => await run(deps, flags))
}

export async function generate(deps: Deps, flags: GenerateFlags): Promise<void> {
  const { io } = deps
  const view = flags.showPrivateKey ? { ...WALLET_VIEW, fields: [...WALLET_VIEW.fields, 'private_key'] } : WALLET_VIEW
  const output = createOutput(io, flags, view)
  const folder = walletsDirectory(deps.env)
  const book = await deps.addresses()
  const names = newNames(book.names(), flags.name, flags.count)
  for (const name of names) book.refuseTaken(name)
  const generator = flags.offline ? createOfflineGenerator(deps, flags) : await createOnlineGenerator(deps, flags)
  const password = await newPassword(io, flags)

  const newWallets: NewWallet[] = []
  let failure: unknown
  try {
    const reservations = await reserveAll(folder, names)
    try {
      await generator({ reservations, folder, password, generatedWallets: newWallets })
    } finally {
      await releaseAll(reservations)
    }
  } catch (error) {
    failure = error
  }
  for (const [i, { name }] of newWallets.entries()) {
    if (name !== names[i]) io.warn(`The name @${names[i]} was taken in the meantime. The wallet is named @${name}.`)
  }
  // Print the generated wallets even if a later one failed.
  const records = newWallets.map((wallet) => asRecord(wallet, flags))
  const [first] = records
  if (flags.count !== undefined && (records.length > 0 || failure === undefined)) await output.many(records)
  else if (first !== undefined) await output.one(first)
  if (failure !== undefined) throw failure
  io.note('Keep both the file and its password. Nobody can restore the key without both.')
  const [{ name } = { name: '' }] = newWallets
  if (newWallets.length === 1)
    io.note(`Use @${name} instead of its address in any command, such as --receiver @${name}.`)
}

const asRecord = (wallet: NewWallet, flags: GenerateFlags): DataRecord => ({
  ...walletRecord(wallet),
  ...(flags.showPrivateKey ? { private_key: wallet.privateKey.disclose() } : {}),
})

/** Reserves all names or none. A name in use is thus reported before the first request. */
async function reserveAll(folder: string, names: readonly string[]): Promise<NameReservation[]> {
  const reservations: NameReservation[] = []
  try {
    for (const name of names) reservations.push(await reserve(folder, name))
    return reservations
  } catch (error) {
    await releaseAll(reservations)
    throw error
  }
}

const releaseAll = async (reservations: readonly NameReservation[]) =>
  await Promise.all(reservations.map((reservation) => reservation.release().catch(() => {})))

/** Returns a generator of wallets whose keys this process creates. The generator sends nothing to a server. */
function createOfflineGenerator({ io, signals: { signal } }: Deps, flags: GenerateFlags): WalletGenerator {
  const ofServer = {
    '--local': flags.local,
    '--base-url': flags.baseUrl,
    '--email': flags.email,
    '--valid-for': flags.validFor,
  }
  for (const [flag, value] of Object.entries(ofServer)) {
    if (value === undefined) continue
    throw flagError(flag, "can't be used with --offline, which sends nothing to a server", `Omit ${flag} or --offline.`)
  }
  const kind = keyKind(flags.blockchain)
  return async ({ reservations, password, generatedWallets: newWallets }) => {
    const progress = await io.progress('Generating the wallet')
    try {
      for (const [i, reservation] of reservations.entries()) {
        signal.throwIfAborted()
        if (reservations.length > 1) progress.update(`Wallet ${i + 1} of ${reservations.length}`)
        newWallets.push(await storeKey({ key: generateKey(kind), reservation, password, signal }))
      }
    } finally {
      progress.stop()
    }
  }
}
