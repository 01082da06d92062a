import { tmpdir } from 'node:os'
import { isAbsolute } from 'node:path'
import { walletsDirectory } from '../../../config/paths.ts'
import type { Secret } from '../../../core/secret.ts'
import { generateWallet, type NewWallet } from '../../../wallet/generate.ts'
import { newNames } from '../../../wallet/new-names.ts'
import { type Reservation, reserve } from '../../../wallet/reservation.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import type { Connection, Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { integer, notEmpty } from '../../flags/parse.ts'
import type { DataRecord } from '../../render/cells.ts'
import { createOutput } from '../../render/output.ts'
import type { View } from '../../render/view.ts'
import { type AccountFlags, addAccountFlags, signedUrlRequest } from './account.ts'
import { addNewPasswordFlags, type NewPasswordFlags, newPassword } from './password.ts'
import { walletSource } from './wallet-source.ts'

export interface GenerateFlags extends OutputFlags, ServerFlags, AccountFlags, NewPasswordFlags {
  name?: string
  count?: number
  showPrivateKey?: boolean
}

const MAX_COUNT = 1000

const VIEW: View = {
  fields: ['address', 'name', 'file'],
  columns: ['name', 'address', 'file'],
  id: 'address',
  cells: (record) => ({ ...record, name: `@${record.name}` }),
  card: ({ address, name, file, private_key }) => [
    ['address', address],
    ['name', `@${name}`],
    ['file', file],
    ...(private_key === undefined ? [] : [['private_key', private_key] as const]),
  ],
}

export function command(deps: Deps, run = generate): GdnCommand {
  const generateCommand = new GdnCommand({
    about:
      'The service generates the key and returns it once. gdn saves it in a keystore file (Web3 Secret Storage, version 3), encrypted with a password that you enter twice. geth, cast, MetaMask and ethers can open the file. Everything that can fail on this machine is done before the request. You can use @name instead of the address in every command.',
    examples: [
      ['Generate a wallet', 'gdn wallet generate --name alice --email me@example.com'],
      ['Use it as a receiver', 'gdn nft mint --receiver @alice --title Dawn'],
      [
        'Generate ten for a test, and print their addresses',
        'gdn wallet generate --local --count 10 --name buyer \\',
        '  --password-file pw.txt -o ids',
      ],
    ],
  })
  valueFlag(generateCommand, '--name <name>', 'Name of the wallet (wallet-1, wallet-2, …)', { parse: notEmpty })
  valueFlag(generateCommand, '--count <n>', 'Number of wallets, named <name>-1, <name>-2, …', {
    parse: integer(1, MAX_COUNT),
  })
  addNewPasswordFlags(generateCommand)
  switchFlag(generateCommand, '--show-private-key', 'Also print the private key')
  addAccountFlags(generateCommand)
  addServerFlags(generateCommand)
  addOutputFlags(generateCommand)
  return generateCommand.action(async (flags: GenerateFlags) => await run(deps, flags)) as GdnCommand
}

export async function generate(deps: Deps, flags: GenerateFlags): Promise<void> {
  const { io } = deps
  const view = flags.showPrivateKey ? { ...VIEW, fields: [...VIEW.fields, 'private_key'] } : VIEW
  const output = createOutput(io, flags, view)
  const folder = walletsDirectory(deps.env)
  const book = await deps.addresses()
  const names = newNames(book.names(), flags.name, flags.count)
  for (const name of names) book.refuseTaken(name)
  const settings = await deps.settings(flags)
  const request = await signedUrlRequest(io, flags, settings)
  const connection = await deps.connect(settings)
  const password = await newPassword(io, flags)

  const made: NewWallet[] = []
  let failure: unknown
  const source = await walletSource(deps, connection, request)
  try {
    const reservations = await reserveAll(folder, names)
    await makeAll(deps, { connection, source, reservations, folder, password, made })
  } catch (error) {
    failure = error
  } finally {
    await source.close()
  }
  // Prints the generated wallets even if others failed.
  const records = made.map((wallet) => asRecord(wallet, flags))
  const [first] = records
  if (flags.count !== undefined && (records.length > 0 || failure === undefined)) await output.many(records)
  else if (first !== undefined) await output.one(first)
  if (failure !== undefined) throw failure
  io.note('Keep both the file and its password. Nobody can restore the key without them.')
  const [{ name } = { name: '' }] = made
  if (made.length === 1) io.note(`Use @${name} instead of its address in any command, such as --receiver @${name}.`)
}

const asRecord = ({ address, name, file, privateKey }: NewWallet, flags: GenerateFlags): DataRecord => ({
  address,
  name,
  file,
  ...(flags.showPrivateKey ? { private_key: privateKey.disclose() } : {}),
})

/** Reserves all names or none, so that a name in use is reported before the first request. */
async function reserveAll(folder: string, names: readonly string[]): Promise<Reservation[]> {
  const reservations: Reservation[] = []
  try {
    for (const name of names) reservations.push(await reserve(folder, name))
    return reservations
  } catch (error) {
    await releaseAll(reservations)
    throw error
  }
}

const releaseAll = async (reservations: readonly Reservation[]) =>
  await Promise.all(reservations.map((reservation) => reservation.release().catch(() => {})))

interface Making {
  connection: Connection
  source: Awaited<ReturnType<typeof walletSource>>
  reservations: readonly Reservation[]
  folder: string
  password: Secret
  /** Each wallet is added when it is done. */
  made: NewWallet[]
}

const STEPS = {
  deriving: 'Preparing the keystore',
  asking: 'Requesting a signed URL',
  calling: 'Generating the wallet',
  checking: 'Saving the key and checking that it can be read',
} as const

async function makeAll(deps: Deps, { connection, source, reservations, folder, password, made }: Making) {
  const { io, signals } = deps
  const count = reservations.length
  const otherFolders = placesElse(deps, connection.settings.stateDir)
  const progress = await io.progress(count === 1 ? STEPS.deriving : `Wallet 1 of ${count}`)
  let step: keyof typeof STEPS = 'deriving'
  // A second Ctrl-C must not end the process between the response and the disk.
  signals.own()
  const onSignal = () => {
    if (step !== 'calling') return
    progress.stop()
    io.warn(
      'Waiting for the response, which is the only copy of a key. Press Ctrl-C again to stop waiting and lose it.',
    )
  }
  signals.signal.addEventListener('abort', onSignal)
  try {
    for (const [i, reservation] of reservations.entries()) {
      signals.signal.throwIfAborted()
      const wallet = await generateWallet({
        source,
        reservation,
        folder,
        password,
        otherFolders,
        signal: signals.signal,
        onStep(next) {
          step = next
          if (!signals.signal.aborted) progress.update(count === 1 ? STEPS[next] : `Wallet ${i + 1} of ${count}`)
        },
      })
      made.push(wallet)
      if (wallet.name !== reservation.name) {
        io.warn(`The name @${reservation.name} was taken in the meantime. The wallet is @${wallet.name}.`)
      }
    }
  } finally {
    progress.stop()
    signals.signal.removeEventListener('abort', onSignal)
    await releaseAll(reservations)
  }
}

/** Returns folders for a keystore that can't be written to the wallet folder. */
function placesElse({ env, cwd }: Deps, stateDir: string): string[] {
  const places = [stateDir, env.HOME ?? '', cwd, tmpdir()]
  return [...new Set(places.filter((place) => isAbsolute(place)))]
}
