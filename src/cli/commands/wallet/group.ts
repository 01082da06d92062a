import { anyAddressProblem, checksumAddress } from '../../../api/address.ts'
import { stateDirectory, walletsDirectory } from '../../../config/paths.ts'
import { count } from '../../../core/count.ts'
import { flagError, GdnError, messageOf, type Place } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import { savedAddress } from '../../../state/addresses.ts'
import { addMember, deleteGroup, savedGroups } from '../../../state/groups.ts'
import { type State, withState } from '../../../state/open-state.ts'
import type { AddressBook } from '../../../wallet/address-book.ts'
import { checkWalletFolder } from '../../../wallet/folder.ts'
import { isValidName, readName } from '../../../wallet/names.ts'
import { refuseTaken } from '../../../wallet/new-names.ts'
import { clearReservation } from '../../../wallet/reservation.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, notEmpty, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import type { Io } from '../../io/io.ts'
import { createOutput, type DataRecord, isOutputRequested, type View } from '../../render/output.ts'
import { formatMembers } from './add.ts'

export interface GroupFlags extends OutputFlags, Pick<ServerFlags, 'stateDir'> {
  add?: string[]
  remove?: string[]
}

const VIEW: View = {
  fields: ['name', 'address', 'error'],
  columns: ['name', 'address', 'error'],
  id: 'address',
  plural: 'members',
  sparse: ['error'],
  cells: ({ name, ...record }) => ({ ...record, name: name === null ? '' : `@${name}` }),
}
const GROUPS_VIEW: View = {
  fields: ['name', 'members', 'created_at'],
  columns: ['name', 'members'],
  id: 'name',
  plural: 'groups',
  cells: ({ name, members, ...record }) => ({ ...record, name: `@${name}`, members: (members as string[]).join(' ') }),
}
const MEMBER_PLACE = { flag: '<member>' }

export function command(deps: Deps, run = group): GdnCommand {
  const repeatable = { parse: notEmpty, repeatable: true }
  return new GdnCommand({
    about:
      'A member is an address, or the name of a wallet or saved address, such as @alice. If the group exists, the specified members replace all of its members. To change only some members, use --add or --remove once for each member. Without members, the command shows the group. Without a group, it lists all groups. To mint an NFT to each member, use gdn batch mint with --to @team. gdn resolves the names each time you use the group. gdn wallet rm deletes a group.',
    examples: [
      ['Create or replace the group @team', 'gdn wallet group @team @alice @bob'],
      ['Show the members of @team', 'gdn wallet group @team'],
      ['Change some members of @team', 'gdn wallet group @team --add @erin --remove @bob'],
      ['List all groups', 'gdn wallet group'],
    ],
  })
    .argument('[group]')
    .argument('[member...]')
    .valueFlag('--add <member>', 'Name or address to add to the group; repeatable', repeatable)
    .valueFlag('--remove <member>', 'Member to remove from the group; repeatable', repeatable)
    .with(addStateDirFlag, addOutputFlags)
    .action(
      async (name: string | undefined, members: string[], flags: GroupFlags) => await run(deps, name, members, flags),
    )
}

export async function group(
  deps: Deps,
  typed: string | undefined,
  typedMembers: readonly string[],
  flags: GroupFlags,
): Promise<void> {
  const { io } = deps
  const isChange = typedMembers.length > 0 || flags.add !== undefined || flags.remove !== undefined
  const book = await deps.addresses()
  if (typed === undefined) {
    if (isChange) throw requiredFlagError('<group>', 'Add the name of the group.')
    return await printGroups(io, book, flags)
  }
  const output = createOutput(io, flags, VIEW)
  const place = { flag: '<group>' }
  if (!isChange) {
    const { members } = book.group(typed, place)
    return await output.many(members.map((member) => memberRecord(book, member)))
  }
  const name = readName(typed, place, 'group')
  const change = typedMembers.length > 0 ? replaceAll(book, typedMembers, flags) : changeSome(book, name, flags)
  const { before, members } = await save(deps, { name, change, stateDir: flags.stateDir })
  if (isOutputRequested(flags)) await output.many(members.map((member) => memberRecord(book, member)))
  const [added, removed] = [withoutMembers(members, before), withoutMembers(before, members)]
  const changes = [
    ...(before.length === 0 || added.length === 0 ? [] : [` Added: ${formatMembers(added)}.`]),
    ...(removed.length === 0 ? [] : [` Removed: ${formatMembers(removed)}.`]),
  ]
  io.note(`The group @${name} has ${count(members.length, 'member')}.${changes.join('')}`)
}

async function printGroups(io: Io, book: AddressBook, flags: GroupFlags): Promise<void> {
  const output = createOutput(io, flags, GROUPS_VIEW)
  if (book.problem !== null) throw book.problem
  const groups = book.groups()
  if (groups.length === 0 && output.mode === 'table') {
    io.note('There are no groups yet. Run `gdn wallet group @<group> <member>...` to create one.')
  }
  await output.many(
    groups.map(({ name, members, created_at }) => ({ name, members, created_at: new Date(created_at).toISOString() })),
  )
}

const withoutMembers = (members: readonly string[], excluded: readonly string[]): string[] => {
  const excludedSet = new Set(excluded)
  return members.filter((member) => !excludedSet.has(member))
}

/** Returns the members of a group after a change. Throws a GdnError if the change isn't possible. */
type MembersChange = (before: readonly string[]) => string[]

function replaceAll(book: AddressBook, typedMembers: readonly string[], { add, remove }: GroupFlags): MembersChange {
  const flag = add === undefined ? '--remove' : '--add'
  if (add !== undefined || remove !== undefined) {
    throw flagError(flag, "can't be used with <member>, which replaces all members", 'Use one of them.')
  }
  const members = resolveMembers(book, typedMembers, [])
  return () => members
}

function changeSome(book: AddressBook, name: string, { add = [], remove = [] }: GroupFlags): MembersChange {
  book.group(name, { flag: '<group>' })
  const removed = remove.map((typed) =>
    isValidName(typed) || anyAddressProblem(typed) ? typed : checksumAddress(typed),
  )
  return (before) => {
    const missing = withoutMembers(removed, before)[0]
    if (missing !== undefined) {
      const hint = before.includes(`@${missing}`)
        ? `Did you mean @${missing}?`
        : `Run \`gdn wallet group @${name}\` to list the members.`
      throw flagError('--remove', `${quoted(missing)} is not a member of @${name}`, hint)
    }
    const remaining = withoutMembers(before, removed)
    const members = [...remaining, ...resolveMembers(book, add, remaining, { flag: '--add' })]
    if (members.length > 0) return members
    throw flagError('--remove', 'would remove all members', `Run \`gdn wallet rm ${name}\` to delete the group.`)
  }
}

/**
 * Returns new members in the form in which they are stored.
 *
 * @param existing the members that the group keeps
 * @throws GdnError `usage` for an unknown or repeated member, or a group
 */
function resolveMembers(
  book: AddressBook,
  typedMembers: readonly string[],
  existing: readonly string[],
  place = MEMBER_PLACE,
): string[] {
  const members = new Map(existing.map((member) => [memberRecord(book, member).address ?? member, member]))
  const added: string[] = []
  for (const typed of typedMembers) {
    const address = isValidName(typed) ? resolveMember(book, typed, place) : checkMemberAddress(book, typed, place)
    const member = isValidName(typed) ? typed : address
    const memberWithAddress = members.get(address)
    if (memberWithAddress !== undefined) {
      const repeated = existing.includes(member) ? 'is already a member' : 'is repeated'
      const message =
        memberWithAddress === member
          ? `${member} ${repeated}`
          : `${member} has the same address as ${memberWithAddress}`
      throw new GdnError('usage', message, { place, hint: 'Remove one of them.' })
    }
    members.set(address, member)
    added.push(member)
  }
  return added
}

function resolveMember(book: AddressBook, typed: string, place: Place): string {
  const name = readName(typed, place)
  if (!book.isGroup(name)) return book.resolve(typed, place)
  const hint = 'Use the members of the group instead.'
  throw new GdnError('usage', `${typed} is a group, which can't be a member of a group`, { place, hint })
}

function checkMemberAddress(book: AddressBook, typed: string, place: Place): string {
  const problem = anyAddressProblem(typed)
  if (problem === null) return checksumAddress(typed)
  const hint = book.names().has(typed) ? `Did you mean @${typed}?` : undefined
  throw new GdnError('usage', `${quoted(typed)} ${problem}`, { place, hint })
}

/** Returns the record of a member. If a name can't be resolved, the record contains the reason. */
function memberRecord(book: AddressBook, member: string): DataRecord {
  if (!isValidName(member)) return { name: null, address: member }
  const name = member.slice(1)
  try {
    return { name, address: book.resolve(member, {}) }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return { name, address: null, error: messageOf(error) }
  }
}

/** Changes a group in one transaction. Returns its members before and after the change. */
async function save(
  { env, signals: { signal }, now }: Deps,
  { name, change, stateDir }: { name: string; change: MembersChange; stateDir: string | undefined },
): Promise<{ before: string[]; members: string[] }> {
  const folder = walletsDirectory(env)
  checkWalletFolder(folder)
  await clearReservation(folder, name)
  const write = async (state: State) =>
    await state.write((sql) => {
      refuseTaken(folder, name, savedAddress(sql, name))
      const before = savedGroups(sql).find((group) => group.name === name)?.members ?? []
      const members = change(before)
      const isExtended = before.every((member, index) => members[index] === member)
      if (!isExtended) deleteGroup(sql, name)
      for (const member of members) addMember(sql, { group: name, member, created_at: now() })
      return { before, members }
    }, signal)
  return await withState(stateDirectory(env, stateDir), write, { signal })
}
