import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { checksumAddress, evmAddressProblem, solanaAddressProblem } from '../api/address.ts'
import { GdnError, messageOf, type Place } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { MAX_KEYSTORE_BYTES } from '../keystore/limits.ts'
import { parseKeystore } from '../keystore/parse.ts'
import { readPrivateFile } from '../keystore/private-file.ts'
import { ADDRESS_ENDING, checkWalletFolder, filesEnding, KEYSTORE_ENDING } from './folder.ts'
import { readName } from './names.ts'

/** A named wallet whose keystore is here, or only an address with a name. */
export interface KnownWallet {
  name: string
  kind: 'keystore' | 'address'
  /** Null if the file can't be read, or has no address. */
  address: string | null
  file: string
  createdAt: string
  /** Why it can't be used by its name, if so. */
  problem: string | null
}

/** The wallets and addresses that have a name on this machine. Files are read on demand. */
export interface AddressBook {
  readonly folder: string
  /**
   * Returns the address of `@alice`.
   *
   * @param place where the name is used, for messages
   * @throws GdnError `usage` for an invalid name; `not_found_locally` for an unknown one, with the nearest name;
   *   `invalid_input` for a file that can't be used
   */
  resolve(name: string, place: Place): string
  list(): KnownWallet[]
}

const MAX_ADDRESS_BYTES = 256

/** @param folder the folder of wallets, which need not exist */
export function openAddressBook(folder: string): AddressBook {
  /** Null: the name does not exist. A manifest may look up a name a million times. */
  const asked = new Map<string, string | null>()
  let names: string[] | null = null

  function find(name: string): string | undefined {
    if (!checkWalletFolder(folder)) return undefined
    const keystore = join(folder, name + KEYSTORE_ENDING)
    const file = join(folder, name + ADDRESS_ENDING)
    if (existsSync(keystore)) return addressOfKeystore(keystore)
    return existsSync(file) ? addressIn(file) : undefined
  }

  return {
    folder,
    resolve(typed, place) {
      const name = readName(typed, place)
      const before = asked.get(name)
      const address = before === undefined ? (find(name) ?? null) : before
      asked.set(name, address)
      if (address !== null) return address
      names ??= namesIn(folder)
      throw unknown(name, names, place)
    },
    list: () =>
      (['keystore', 'address'] as const).flatMap((kind) => {
        const ending = kind === 'keystore' ? KEYSTORE_ENDING : ADDRESS_ENDING
        return filesEnding(folder, ending).map((name) => known(name, kind, join(folder, name + ending)))
      }),
  }
}

/** Returns every known name. */
function namesIn(folder: string): string[] {
  return [...filesEnding(folder, KEYSTORE_ENDING), ...filesEnding(folder, ADDRESS_ENDING)]
}

function unknown(name: string, names: readonly string[], place: Place): GdnError {
  const near = nearest(name, names)
  return new GdnError('not_found_locally', `no wallet or address is named @${name} on this machine`, {
    place,
    hint:
      near === undefined
        ? `Run \`gdn wallet list\` to list the names, or \`gdn wallet add @${name} <address>\` to add this one.`
        : `Did you mean @${near}?`,
  })
}

function known(name: string, kind: KnownWallet['kind'], file: string): KnownWallet {
  let address: string | null = null
  let problem: string | null = null
  let createdAt = ''
  try {
    createdAt = statSync(file).mtime.toISOString()
    address = kind === 'keystore' ? addressOfKeystore(file) : addressIn(file)
  } catch (error) {
    const hint = error instanceof GdnError ? error.hint : undefined
    problem = hint === undefined ? messageOf(error) : `${messageOf(error)}. ${hint}`
  }
  return { name, kind, address, file, createdAt, problem }
}

/** Returns the address in the keystore. It was checked when the file was created, and only the owner can change it. */
function addressOfKeystore(file: string): string {
  const { address } = parseKeystore(readPrivateFile(file, MAX_KEYSTORE_BYTES), file)
  if (address !== null) return checksumAddress(address)
  throw new GdnError('invalid_input', "has no address, so it can't be used by name", {
    place: { file },
  })
}

function addressIn(file: string): string {
  const address = readPrivateFile(file, MAX_ADDRESS_BYTES).trim()
  const problem = anyAddressProblem(address)
  if (problem === null) return address
  throw new GdnError('invalid_input', `has no valid address: it ${problem}`, { place: { file } })
}

/** Returns the problem of an address of any blockchain, or null. */
export function anyAddressProblem(address: string): string | null {
  if (/^0x/i.test(address) || address === '') return evmAddressProblem(address)
  if (solanaAddressProblem(address) === null) return null
  return 'is neither an EVM address (0x and 40 hex digits) nor a Solana address (base58 of 32 bytes)'
}
