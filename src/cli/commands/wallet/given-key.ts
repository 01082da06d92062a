import { lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { checksumAddress } from '../../../api/address.ts'
import type { Blockchain } from '../../../api/blockchains.ts'
import { readText } from '../../../config/read-text.ts'
import { flagError, GdnError, messageOf } from '../../../core/errors.ts'
import { Secret } from '../../../core/secret.ts'
import { MAX_KEYSTORE_BYTES } from '../../../keystore/limits.ts'
import { addPasswordFileHint, openKeystore } from '../../../keystore/open.ts'
import { parseKeystore } from '../../../keystore/parse.ts'
import { readSecretFile } from '../../../keystore/private-file.ts'
import type { WalletKey } from '../../../keystore/private-key.ts'
import { parsePath } from '../../../wallet/derivation-path.ts'
import { isMnemonic, looksLikeKey, parsePrivateKey } from '../../../wallet/read-key.ts'
import { cannotPromptError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import type { Io } from '../../io/io.ts'
import { readInput } from '../../io/request-file.ts'
import { askSecret, mayPrompt } from '../../prompt/ask-missing.ts'
import { readPassword } from './password.ts'
import { keyKind } from './wallet-record.ts'
import { openWithProgress } from './while-opening.ts'

export interface KeyFlags {
  blockchain?: Blockchain
  path?: string
  passwordFile?: string
}

export interface ImportedKey {
  key: WalletKey
  /** The password of the keystore that contained the key; null if the key wasn't encrypted. */
  password: Secret | null
}

/**
 * Returns the key from a file, a pipe or a hidden prompt.
 *
 * @param file null for a pipe or a prompt
 * @throws GdnError `usage` or `invalid_input`. The error contains no part of the key.
 */
export async function readImportedKey(deps: Deps, file: string | null, flags: KeyFlags): Promise<ImportedKey> {
  const { io } = deps
  checkFlags(io, file, flags)
  const name = file ?? 'stdin'
  const text = file === null ? await readFromStdin(io, flags) : await readFromFile(file, deps.cwd)
  const keyAndPassword = isKeystore(text)
    ? await openImportedKey(deps, text, name, flags)
    : { key: await parseKey(text, name, flags), password: null }
  const { blockchain } = flags
  if (blockchain !== undefined && keyKind(blockchain) !== findKeyKind(keyAndPassword.key)) {
    const kinds = { evm: 'an EVM key', solana: 'a Solana key' }
    throw new GdnError('usage', `is ${blockchain}, but ${name} has ${kinds[findKeyKind(keyAndPassword.key)]}`, {
      place: { flag: '--blockchain' },
      hint: 'Omit the flag, which is only for mnemonics.',
    })
  }
  if (flags.path === undefined || isMnemonic(text)) return keyAndPassword
  throw flagError('--path', `requires a mnemonic, but ${name} contains a private key`)
}

const isKeystore = (text: string) => text.trimStart().startsWith('{')
const findKeyKind = ({ address }: WalletKey) => (address.startsWith('0x') ? 'evm' : 'solana')

/** Checks the flags before a key is read or typed. */
function checkFlags({ stdin }: Io, file: string | null, { blockchain, path, passwordFile }: KeyFlags): void {
  if (file === null && stdin.isTTY !== true && (passwordFile === undefined || passwordFile === '-')) {
    throw flagError(
      '--password-file',
      'is required, because standard input contains the key',
      'Add --password-file <file>.',
    )
  }
  if (path === undefined) return
  const keyError = (message: string) => flagError('--path', message)
  const parts = parsePath(path)
  if (parts === null) throw keyError("must be a derivation path such as m/44'/60'/0'/0/0")
  if (keyKind(blockchain) === 'solana' && parts.some(({ hardened }) => !hardened)) {
    throw keyError("must have ' after each number: Solana supports only hardened keys")
  }
}

async function readFromStdin(io: Io, flags: KeyFlags): Promise<string> {
  if (io.stdin.isTTY !== true) return await readInput(io, '-')
  if (!mayPrompt(io)) throw cannotPromptError('<file>', 'Pipe the key in, or pass a file.')
  return await askSecret(io, {
    message: 'Private key or mnemonic',
    flag: '<file>',
    async check(typed) {
      try {
        if (isKeystore(typed)) parseKeystore(typed.trim(), 'it')
        else await parseKey(typed, 'it', flags)
        return true
      } catch (error) {
        if (error instanceof GdnError) return `it ${messageOf(error)}`
        throw error
      }
    },
  })
}

async function readFromFile(typedPath: string, cwd: string): Promise<string> {
  if (looksLikeKey(typedPath)) {
    new Secret(typedPath)
    throw new GdnError('usage', 'is a key or mnemonic, and every user of this machine can read arguments', {
      place: { flag: '<file>' },
      hint: 'Move the assets to another wallet. Then run `gdn wallet import`, which prompts for a key.',
    })
  }
  const file = resolve(cwd, typedPath)
  try {
    const text = await readText(file, MAX_KEYSTORE_BYTES, 'invalid_input')
    // A keystore may be readable by other users, because it is encrypted. `cast` creates keystores with mode 0644.
    return isKeystore(text) ? text : readSecretFile(file, MAX_KEYSTORE_BYTES)
  } catch (error) {
    const stats = lstatSync(file, { throwIfNoEntry: false })
    if (!(error instanceof GdnError) || stats === undefined || stats.isFile() || stats.isDirectory()) throw error
    // Shells often pass secrets as pipes, and Kubernetes as symbolic links.
    throw error.withHint('Pipe the key in instead: `gdn wallet import --password-file <file> < <key>`.')
  }
}

const parseKey = async (text: string, name: string, { blockchain, path }: KeyFlags) =>
  await parsePrivateKey(text, name, { kind: keyKind(blockchain), path })

async function openImportedKey(
  deps: Deps,
  text: string,
  name: string,
  { passwordFile }: KeyFlags,
): Promise<ImportedKey> {
  // Report a damaged file before the password prompt.
  parseKeystore(text, name)
  const password = await readPassword(deps.io, passwordFile)
  const { address, privateKey } = await openWithProgress(deps, () =>
    openKeystore(text, password, name).catch(addPasswordFileHint(passwordFile)),
  )
  return { key: { address: checksumAddress(address), privateKey }, password }
}
