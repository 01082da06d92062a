import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { platform } from 'node:process'
import { checksumAddress } from '../api/address.ts'
import { GdnError, messageOf, type Place } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { refuseForeignDirectory } from '../core/private-file.ts'
import { shellWord } from '../core/shell-word.ts'
import { MAX_KEYSTORE_BYTES } from '../keystore/limits.ts'
import { parseKeystore } from '../keystore/parse.ts'
import { readSecretFile } from '../keystore/private-file.ts'
import { type SavedAddress, savedAddresses } from '../state/addresses.ts'
import { type SavedGroup, savedGroups } from '../state/groups.ts'
import { openStateIfExists } from '../state/open-state.ts'
import { checkWalletFolder, KEYSTORE_EXTENSION, listKeystoreNames } from './folder.ts'
import { readName } from './names.ts'
import { nameTakenError, refuseKeystore } from './new-names.ts'

/** A wallet with a keystore on this machine, or a saved address. */
export interface KnownWallet {
  name: string
  kind: 'keystore' | 'address'
  /** Null if the keystore can't be read or contains no address. */
  address: string | null
  /** The path of the keystore, or null for an address. */
  file: string | null
  createdAt: string
  /** The reason why the wallet can't be used by name, or null if it can. */
  problem: string | null
}

/**
 * The named wallets and addresses on this machine. They are keystores in the wallet folder, and addresses in the state
 * database. Keystores are read on demand.
 */
export interface AddressBook {
  /** The error if the saved addresses can't be read. It is thrown when a saved address is needed. */
  readonly problem: GdnError | null
  /**
   * Returns the address of `@alice`.
   *
   * @param place the location where the name is used, for messages
   * @throws GdnError `usage` for an invalid name or a group; `not_found_locally` for an unknown name, with the nearest
   * name; `invalid_input` for an unusable keystore or an ambiguous name; otherwise `problem`
   */
  resolve(name: string, place: Place): string
  /**
   * Returns the group `@team`.
   *
   * @throws GdnError `usage` for an invalid name or the name of an address; `not_found_locally` for an unknown name
   */
  group(name: string, place: Place): SavedGroup
  /**
   * Returns whether a name belongs to a group.
   *
   * @throws GdnError `problem`
   */
  isGroup(name: string): boolean
  /**
   * Returns all groups, ordered by name. Without SQLite, returns an empty list.
   *
   * @throws GdnError `problem`
   */
  groups(): SavedGroup[]
  /** Returns the error for an unknown name, with the nearest name. */
  unknownNameError(name: string, place: Place): GdnError
  /**
   * Returns all names, including the names of groups. Without SQLite, returns only the names of keystores.
   *
   * @throws GdnError `problem`
   */
  names(): Set<string>
  /**
   * @throws GdnError `invalid_input` if a wallet, an address or a group has the name; otherwise the errors of `names`
   */
  refuseTaken(name: string): void
  /**
   * Returns the named wallets and addresses. Without SQLite, returns only keystores.
   *
   * @throws GdnError `problem`
   */
  list(): KnownWallet[]
}

export interface AddressBookOptions {
  /** The wallet folder, which doesn't need to exist. */
  folder: string
  stateDir: string
  signal?: AbortSignal | undefined
}

/** Opens the address book. Saved addresses and groups are read once. */
export async function openAddressBook({ folder, stateDir, signal }: AddressBookOptions): Promise<AddressBook> {
  const saved = new Map<string, SavedAddress>()
  const savedAsGroup = new Map<string, SavedGroup>()
  let problem: GdnError | null = null
  try {
    const { addresses, groups } = await readSavedAddresses(stateDir, signal)
    for (const contact of addresses) saved.set(contact.name, contact)
    for (const group of groups) savedAsGroup.set(group.name, group)
  } catch (error) {
    // Don't throw the error here, because a command that opens the book may use no names, or only names of keystores.
    if (!(error instanceof GdnError)) throw error
    problem = error
  }
  const readBook = () => {
    if (problem !== null && problem.code !== 'native_missing') throw problem
    return { addresses: saved, groups: savedAsGroup }
  }
  /**
   * Caches the addresses of names, because a manifest may look up a name a million times. The address is null if the
   * name doesn't exist.
   */
  const addressOfName = new Map<string, string | null>()
  let all: Set<string> | null = null
  const names = () => {
    all ??= new Set([...listKeystoreNames(folder), ...readBook().addresses.keys(), ...readBook().groups.keys()])
    return all
  }

  function find(name: string, place: Place): string | null {
    const keystore = join(folder, name + KEYSTORE_EXTENSION)
    const hasKeystore = checkWalletFolder(folder) && existsSync(keystore)
    if (problem !== null && !(hasKeystore && problem.code === 'native_missing'))
      throw unreadableNameError(name, place, problem)
    const address = saved.get(name)?.address ?? null
    const isGroup = savedAsGroup.has(name)
    if (hasKeystore && isGroup) throw ambiguousNameError(name, 'a group', keystore, place)
    if (isGroup) throw groupInsteadError(name, place)
    if (!hasKeystore) return address
    if (address !== null) throw ambiguousNameError(name, `the saved address ${address}`, keystore, place)
    return readKeystoreAddress(keystore)
  }

  function unknownNameError(name: string, place: Place): GdnError {
    const near = nearest(name, [...names()])
    return new GdnError('not_found_locally', `@${name} is not the name of a wallet or address on this machine`, {
      place,
      hint:
        near === undefined
          ? `Run \`gdn wallet list\` to list the names, or \`gdn wallet add @${name} <address>\` to add this name.`
          : `Did you mean @${near}?`,
    })
  }

  return {
    problem,
    resolve(typed, place) {
      const name = readName(typed, place)
      const before = addressOfName.get(name)
      const address = before === undefined ? find(name, place) : before
      addressOfName.set(name, address)
      if (address === null) throw unknownNameError(name, place)
      return address
    },
    group(typed, place) {
      const name = readName(typed, place, 'group')
      if (problem !== null) throw unreadableNameError(name, place, problem)
      const group = savedAsGroup.get(name)
      if (group !== undefined) return group
      if (names().has(name)) {
        const hint = `To create a group with this address, run \`gdn wallet group <group> @${name}\`.`
        throw new GdnError('usage', `@${name} is an address, not a group`, { place, hint })
      }
      const near = nearest(name, [...savedAsGroup.keys()])
      throw new GdnError('not_found_locally', `@${name} is not the name of a group on this machine`, {
        place,
        hint:
          near === undefined
            ? `Run \`gdn wallet group @${name} <member>...\` to create the group.`
            : `Did you mean @${near}?`,
      })
    },
    isGroup: (name) => readBook().groups.has(name),
    groups: () => [...readBook().groups.values()],
    unknownNameError,
    names,
    refuseTaken(name) {
      refuseKeystore(folder, name)
      const { addresses, groups } = readBook()
      const currentUse = groups.has(name) ? 'a group' : addresses.get(name)?.address
      if (currentUse !== undefined) throw nameTakenError(name, currentUse)
    },
    list() {
      const addresses = [...readBook().addresses.values()].map(fromSavedAddress)
      const keystores = listKeystoreNames(folder).map((name) =>
        fromKeystore(name, join(folder, name + KEYSTORE_EXTENSION)),
      )
      for (const keystore of keystores) {
        const contact = addresses.find(({ name }) => name === keystore.name)
        if (contact === undefined) continue
        keystore.problem = formatWithHint(
          ambiguousNameError(contact.name, `the saved address ${contact.address}`, keystore.file, {}),
        )
        contact.problem = keystore.problem
      }
      return [...keystores, ...addresses]
    },
  }
}

async function readSavedAddresses(stateDir: string, signal: AbortSignal | undefined) {
  const state = await openStateIfExists(stateDir, { signal })
  if (state === null) return { addresses: [], groups: [] }
  try {
    await refuseOpenFile(state.path)
    return await state.read((sql) => ({ addresses: savedAddresses(sql), groups: savedGroups(sql) }), signal)
  } finally {
    state.close()
  }
}

/** Refuses a state database that other users can change, because they could replace the receiver of an NFT. */
async function refuseOpenFile(path: string): Promise<void> {
  await refuseForeignDirectory(path, { code: 'data_dir' })
  if (platform === 'win32' || (statSync(path).mode & 0o022) === 0) return
  throw new GdnError('data_dir', `${path} is writable by others, who could change saved addresses`, {
    hint: `Run \`chmod 600 ${shellWord(path)}\`.`,
  })
}

const unreadableNameError = (name: string, place: Place, error: GdnError): GdnError =>
  error.with({ message: `@${name} can't be looked up: ${error.message}`, place })

/** @param saved describes the saved address or the group with the name */
function ambiguousNameError(name: string, saved: string, keystore: string, place: Place): GdnError {
  return new GdnError('invalid_input', `@${name} is both ${saved} and the keystore ${keystore}`, {
    place,
    hint: `Run \`gdn wallet rm ${name}\` to delete the saved name. The keystore is not deleted.`,
  })
}

const groupInsteadError = (name: string, place: Place) =>
  new GdnError('usage', `@${name} is a group, not an address`, {
    place,
    hint: `To mint an NFT to each member, run \`gdn batch mint <row.json> --to @${name}\`. To list the members, run \`gdn wallet group @${name}\`.`,
  })

const fromSavedAddress = ({ name, address, created_at }: SavedAddress): KnownWallet & { address: string } => ({
  name,
  kind: 'address',
  address,
  file: null,
  createdAt: new Date(created_at).toISOString(),
  problem: null,
})

function fromKeystore(name: string, file: string): KnownWallet & { file: string } {
  let address: string | null = null
  let problem: string | null = null
  let createdAt = ''
  try {
    createdAt = statSync(file).mtime.toISOString()
    address = readKeystoreAddress(file)
  } catch (error) {
    problem = formatWithHint(error)
  }
  return { name, kind: 'keystore', address, file, createdAt, problem }
}

function formatWithHint(error: unknown): string {
  const hint = error instanceof GdnError ? error.hint : undefined
  return hint === undefined ? messageOf(error) : `${messageOf(error)}. ${hint}`
}

/**
 * Returns the address in a keystore. The address was checked when the file was created, and only the owner can change
 * the file.
 */
function readKeystoreAddress(file: string): string {
  const { address } = parseKeystore(readSecretFile(file, MAX_KEYSTORE_BYTES), file)
  if (address !== null) return checksumAddress(address)
  throw new GdnError('invalid_input', "has no address, so it can't be used by name", {
    place: { file },
  })
}
