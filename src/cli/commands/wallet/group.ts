import { anyAddressProblem, checksumAddress } from '../../../api/address.ts'
import { stateDirectory, walletsDirectory } from '../../../config/paths.ts'
import { count } from '../../../core/count.ts'
import { GdnError, messageOf } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import { savedAddress } from '../../../state/addresses.ts'
import { addMember, deleteGroup } from '../../../state/groups.ts'
import { type State, withState } from '../../../state/open-state.ts'
import type { AddressBook } from '../../../wallet/address-book.ts'
import { checkWalletFolder } from '../../../wallet/folder.ts'
import { isName, readName } from '../../../wallet/names.ts'
import { refuseTaken } from '../../../wallet/new-names.ts'
import { clearReservation } from '../../../wallet/reservation.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import type { DataRecord } from '../../render/cells.ts'
import { createOutput, isAskedFor } from '../../render/output.ts'
import type { View } from '../../render/view.ts'

export type GroupFlags = OutputFlags & Pick<ServerFlags, 'stateDir'>

const VIEW: View = {
  fields: ['name', 'address', 'error'],
  columns: ['name', 'address', 'error'],
  id: 'address',
  plural: 'members',
  sparse: ['error'],
  cells: ({ name, ...record }) => ({ ...record, name: name === null ? '' : `@${name}` }),
}
const MEMBER = { flag: '<member>' }

export function command(deps: Deps, run = group): GdnCommand {
  const groupCommand = new GdnCommand({
    about:
      'A member is the name of a wallet or a saved address, such as @alice, or an address. If the group exists, its members are replaced. Without members, the command shows the group. To mint an NFT to each member, use gdn batch mint with --to @team. The address of a name is looked up each time the group is used. gdn wallet rm deletes a group.',
    examples: [
      ['Create or replace the group @team', 'gdn wallet group @team @alice @bob'],
      ['Show the members of @team', 'gdn wallet group @team'],
    ],
  })
  groupCommand.argument('<group>').argument('[member...]')
  addStateDirFlag(groupCommand)
  addOutputFlags(groupCommand)
  return groupCommand.action(async (name: string, members: string[], flags: GroupFlags) => {
    await run(deps, name, members, flags)
  })
}

export async function group(deps: Deps, typed: string, given: readonly string[], flags: GroupFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const place = { flag: '<group>' }
  const book = await deps.addresses()
  if (given.length === 0) {
    const { members } = book.group(typed, place)
    return await output.many(members.map((member) => memberRecord(book, member)))
  }
  const name = readName(typed, place, 'group')
  const members = checkedMembers(book, given)
  await save(deps, { name, members, stateDir: flags.stateDir })
  if (isAskedFor(flags)) await output.many(members.map((member) => memberRecord(book, member)))
  io.note(`The group @${name} has ${count(members.length, 'member')}.`)
}

/** Returns the members as they are stored. @throws GdnError `usage` for an unknown or repeated member, or a group */
function checkedMembers(book: AddressBook, given: readonly string[]): string[] {
  const members = new Map<string, string>()
  for (const typed of given) {
    const address = isName(typed) ? addressOf(book, typed) : checkedAddress(book, typed)
    const member = isName(typed) ? typed : address
    const same = members.get(address)
    if (same !== undefined) {
      const message = same === member ? `${member} is repeated` : `${member} has the same address as ${same}`
      throw new GdnError('usage', message, { place: MEMBER, hint: 'Remove one of them.' })
    }
    members.set(address, member)
  }
  return [...members.values()]
}

function addressOf(book: AddressBook, typed: string): string {
  const name = readName(typed, MEMBER)
  if (!book.isGroup(name)) return book.resolve(typed, MEMBER)
  const hint = 'Use the members of the group instead.'
  throw new GdnError('usage', `${typed} is a group, which can't be a member of a group`, { place: MEMBER, hint })
}

function checkedAddress(book: AddressBook, typed: string): string {
  const problem = anyAddressProblem(typed)
  if (problem === null) return checksumAddress(typed)
  const hint = book.names().has(typed) ? `Did you mean @${typed}?` : undefined
  throw new GdnError('usage', `${quoted(typed)} ${problem}`, { place: MEMBER, hint })
}

/** Shows a member whose name can't be resolved with the reason. */
function memberRecord(book: AddressBook, member: string): DataRecord {
  if (!isName(member)) return { name: null, address: member }
  const name = member.slice(1)
  try {
    return { name, address: book.resolve(member, {}) }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { name, address: null, error: messageOf(error) }
  }
}

async function save(
  { env, signals: { signal }, now }: Deps,
  { name, members, stateDir }: { name: string; members: readonly string[]; stateDir: string | undefined },
): Promise<void> {
  const folder = walletsDirectory(env)
  checkWalletFolder(folder)
  await clearReservation(folder, name)
  const replace = async (state: State) =>
    await state.write((sql) => {
      refuseTaken(folder, name, savedAddress(sql, name))
      deleteGroup(sql, name)
      for (const member of members) addMember(sql, { group: name, member, created_at: now() })
    }, signal)
  await withState(stateDirectory(env, stateDir), replace, { signal })
}
