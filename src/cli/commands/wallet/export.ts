import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { checksumAddress } from '../../../api/address.ts'
import { walletsDirectory } from '../../../config/paths.ts'
import { flagError, GdnError, messageOf } from '../../../core/errors.ts'
import { writeNewFile } from '../../../core/new-file.ts'
import { Secret } from '../../../core/secret.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { MAX_KEYSTORE_BYTES } from '../../../keystore/limits.ts'
import { addPasswordFileHint, decrypt, openKeystore } from '../../../keystore/open.ts'
import { isSolanaKeystore, type Keystore, parseKeystore } from '../../../keystore/parse.ts'
import { readSecretFile } from '../../../keystore/private-file.ts'
import { PRIVATE_KEY_BYTES, privateKeyBytes } from '../../../keystore/private-key.ts'
import { recordExport, type WalletExport } from '../../../wallet/exports.ts'
import { KEYSTORE_EXTENSION } from '../../../wallet/folder.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addJsonFlag, addStateDirFlag, type CommonFlags, notEmpty, oneOf } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { findKeystore } from './find-keystore.ts'
import { addPasswordFlag, readPassword } from './password.ts'
import { openWithProgress } from './while-opening.ts'

const FORMATS = ['keystore', 'private-key', 'keypair'] as const

/** Descriptions of the content of an exported file, by format. */
const CONTENT_DESCRIPTIONS = {
  keystore: 'keystore',
  'private-key': 'unencrypted private key',
  keypair: 'unencrypted keypair',
  answer: 'unencrypted response',
} as const

export interface ExportFlags extends CommonFlags {
  format?: (typeof FORMATS)[number]
  to?: string
  passwordFile?: string
}

export function command(deps: Deps, run = exportWallet): GdnCommand {
  return new GdnCommand({
    about:
      'By default, the command copies the encrypted keystore unchanged. A private key or keypair is not encrypted, and gives full control of the wallet. Only you can read the new file, and gdn does not overwrite existing files. If you specify a path instead of a name, the command opens any keystore in the Web3 Secret Storage format, version 3.',
    examples: [
      ['Copy the keystore for another machine', 'gdn wallet export alice --to alice-copy.json'],
      ['Write the private key to a file', 'gdn wallet export alice --format private-key --to alice.key'],
      [
        'Write a keypair file for solana-keygen, or for a signer',
        'gdn wallet export payer --format keypair --to id.json',
      ],
      ['Print the private key', 'gdn wallet export alice --format private-key --to -'],
    ],
  })
    .argument('<wallet>')
    .valueFlag('--format <format>', 'Format: keystore, private-key, or keypair for Solana (keystore)', oneOf(FORMATS))
    .valueFlag('--to <file>', 'New file to write, or - for standard output', notEmpty)
    .with(addPasswordFlag, addStateDirFlag, (own) => addJsonFlag(own, 'Print the exported file and its format as JSON'))
    .action(async (nameOrPath: string, flags: ExportFlags) => await run(deps, nameOrPath, flags))
}

export async function exportWallet(deps: Deps, nameOrPath: string, flags: ExportFlags): Promise<void> {
  const { io } = deps
  const { to } = flags
  const file = await findKeystore(deps, nameOrPath, '<wallet>')
  if (to === undefined) {
    throw new GdnError('usage', 'is required: a new file, or - for standard output', {
      place: { flag: '--to' },
      hint: `Run \`gdn wallet export ${shellWord(safe(nameOrPath))} --to <file>\`.`,
    })
  }
  const target = to === '-' ? null : resolve(deps.cwd, to)
  if (target !== null && existsSync(target)) throw fileExistsError(target)
  const text = readSecretFile(file, MAX_KEYSTORE_BYTES)
  const keystore = parseKeystore(text, file)
  const { content, address, format } = await exportedContent(deps, { text, keystore, file }, flags)
  if (target !== null) await write(target, content)
  keepRecord(deps, file, { format, to: target })
  if (io.settings.machine) {
    const written = target === null ? { content: content.trimEnd() } : { file: target }
    await io.data(`${JSON.stringify({ address, format, ...written })}\n`)
    return
  }
  if (target === null) await io.data(content)
  else
    io.note(
      `Wrote the ${CONTENT_DESCRIPTIONS[format]} of ${safe(basename(file, KEYSTORE_EXTENSION))} to ${safe(target)}.`,
    )
}

/** Records the export of a wallet in the wallet folder, for `gdn doctor`. */
function keepRecord({ env, io, now }: Deps, file: string, newExport: Pick<WalletExport, 'format' | 'to'>): void {
  const folder = walletsDirectory(env)
  if (dirname(file) !== folder) return
  try {
    const name = basename(file, KEYSTORE_EXTENSION)
    recordExport(folder, { name, ...newExport, at: new Date(now()).toISOString() })
  } catch (error) {
    io.warn(safe(`The export can't be recorded for \`gdn doctor\`: ${messageOf(error)}`))
  }
}

interface FoundKeystore {
  text: string
  keystore: Keystore
  file: string
}

async function exportedContent(deps: Deps, { text, keystore, file }: FoundKeystore, flags: ExportFlags) {
  const isSolana = isSolanaKeystore(keystore)
  const isAnswer = !isSolana && keystore.ciphertext.length > PRIVATE_KEY_BYTES
  const format: keyof typeof CONTENT_DESCRIPTIONS = isAnswer ? 'answer' : (flags.format ?? 'keystore')
  const written = keystore.address === null ? null : checksumAddress(keystore.address)
  if (format === 'keypair' && !isSolana) {
    throw flagError('--format', 'keypair is for Solana wallets, but this is an EVM wallet', 'Use --format private-key.')
  }
  if (format === 'keystore') return { content: text, address: written, format }
  const password = await readPassword(deps.io, flags.passwordFile)
  if (isAnswer) {
    // The keystore contains a service's response, which was saved because it contained no usable wallet.
    const bytes = await openWithProgress(deps, () => decrypt(keystore, password, file))
    return { content: `${bytes.toString('utf8')}\n`, address: null, format }
  }
  const { privateKey, address } = await openWithProgress(deps, () =>
    openKeystore(text, password, file).catch(addPasswordFileHint(flags.passwordFile)),
  )
  const secret = format === 'keypair' ? keypairText(privateKey) : privateKey
  // The secret is printed only because the user requested this with `--to -`.
  const content = flags.to === '-' ? secret.disclose() : secret.reveal()
  return { content: `${content}\n`, address: checksumAddress(address), format }
}

/** Returns a keypair in the format of solana-keygen. */
function keypairText(privateKey: Secret): Secret {
  const bytes = privateKeyBytes(privateKey)
  try {
    return new Secret(JSON.stringify([...bytes]))
  } finally {
    bytes.fill(0)
  }
}

const fileExistsError = (path: string) =>
  flagError('--to', `${path} already exists`, 'Use another name. Existing files are not overwritten.')

async function write(path: string, text: string): Promise<void> {
  const isNew = await writeNewFile(path, text).catch((error: unknown) => {
    throw new GdnError('invalid_input', `can't be written: ${messageOf(error)}`, {
      place: { file: path },
      cause: error,
    })
  })
  if (!isNew) throw fileExistsError(path)
}
