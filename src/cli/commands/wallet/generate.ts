import { tmpdir } from 'node:os'
import { isAbsolute } from 'node:path'
import type { Secret } from '../../../core/secret.ts'
import { generateWallet, type NewWallet } from '../../../wallet/generate.ts'
import { newNames, refuseTaken } from '../../../wallet/new-names.ts'
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
      'The service makes the key and tells it once: it is kept in a keystore file (Web3 Secret Storage, version 3) that geth, cast, MetaMask and ethers open, encrypted with a password that you type twice. Everything that can fail here is done before the service is asked. The wallet has a name, and @name stands for its address in every command.',
    examples: [
      ['A wallet of your own', 'gdn wallet generate --name alice --email me@example.com'],
      ['Then', 'gdn nft mint --receiver @alice --title Dawn'],
      [
        'Ten for a test, their addresses only',
        'gdn wallet generate --local --count 10 --name buyer \\',
        '  --password-file pw.txt -o ids',
      ],
    ],
  })
  valueFlag(generateCommand, '--name <name>', 'Its name here; without it wallet-1, wallet-2, …', { parse: notEmpty })
  valueFlag(generateCommand, '--count <n>', 'So many wallets, named <name>-1, <name>-2, …', {
    parse: integer(1, MAX_COUNT),
  })
  addNewPasswordFlags(generateCommand)
  switchFlag(generateCommand, '--show-private-key', 'Print the private key too')
  addAccountFlags(generateCommand)
  addServerFlags(generateCommand)
  addOutputFlags(generateCommand)
  return generateCommand.action(async (flags: GenerateFlags) => await run(deps, flags)) as GdnCommand
}

export async function generate(deps: Deps, flags: GenerateFlags): Promise<void> {
  const { io } = deps
  const view = flags.showPrivateKey ? { ...VIEW, fields: [...VIEW.fields, 'private_key'] } : VIEW
  const output = createOutput(io, flags, view)
  const { folder } = await deps.addresses()
  const names = newNames(folder, flags.name, flags.count)
  for (const name of names) refuseTaken(folder, name)
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
  // What was made is told, whatever became of the others.
  const records = made.map((wallet) => asRecord(wallet, flags))
  const [first] = records
  if (flags.count !== undefined && (records.length > 0 || failure === undefined)) await output.many(records)
  else if (first !== undefined) await output.one(first)
  if (failure !== undefined) throw failure
  io.note('Keep the file and its password: without both nobody has the key.')
  const [{ name } = { name: '' }] = made
  if (made.length === 1) io.note(`@${name} stands for its address in every command: --receiver @${name}`)
}

const asRecord = ({ address, name, file, privateKey }: NewWallet, flags: GenerateFlags): DataRecord => ({
  address,
  name,
  file,
  ...(flags.showPrivateKey ? { private_key: privateKey.disclose() } : {}),
})

/** All or none: that a name is taken is told before the service is asked for the first. */
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
  /** Gets each wallet when it is done. */
  made: NewWallet[]
}

const STEPS = {
  deriving: 'Making the keystore ready',
  asking: 'Asking for a signed URL',
  calling: 'Generating the wallet',
  checking: 'Keeping the key, and checking that it can be had again',
} as const

async function makeAll(deps: Deps, { connection, source, reservations, folder, password, made }: Making) {
  const { io, signals } = deps
  const count = reservations.length
  const otherFolders = placesElse(deps, connection.settings.stateDir)
  const progress = await io.progress(count === 1 ? STEPS.deriving : `Wallet 1 of ${count}`)
  let step: keyof typeof STEPS = 'deriving'
  // A second Ctrl-C must not end the process between the answer and the disk.
  signals.own()
  const onSignal = () => {
    if (step !== 'calling') return
    progress.stop()
    io.warn('Waiting for the answer: it is the only copy of a key. Ctrl-C again gives it up.')
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
        io.warn(`Something took the name @${reservation.name} meanwhile: the wallet is @${wallet.name}.`)
      }
    }
  } finally {
    progress.stop()
    signals.signal.removeEventListener('abort', onSignal)
    await releaseAll(reservations)
  }
}

/** Where a keystore goes when the folder of wallets takes it no more. */
function placesElse({ env, cwd }: Deps, stateDir: string): string[] {
  const places = [stateDir, env.HOME ?? '', cwd, tmpdir()]
  return [...new Set(places.filter((place) => isAbsolute(place)))]
}
