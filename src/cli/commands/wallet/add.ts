import { anyAddressProblem, checksumAddress } from '../../../api/address.ts'
import { stateDirectory, walletsDirectory } from '../../../config/paths.ts'
import { count } from '../../../core/count.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { listSome } from '../../../core/list-some.ts'
import { issuesError } from '../../../manifest/manifest-error.ts'
import type { Sql } from '../../../sqlite/shared-database.ts'
import { addAddress, savedAddress } from '../../../state/addresses.ts'
import { addMember, hasGroup } from '../../../state/groups.ts'
import { withState } from '../../../state/open-state.ts'
import type { Contacts } from '../../../wallet/contacts.ts'
import { checkWalletFolder } from '../../../wallet/folder.ts'
import { buildGroupList } from '../../../wallet/group-list.ts'
import { readName } from '../../../wallet/names.ts'
import { nameTakenError, refuseTaken } from '../../../wallet/new-names.ts'
import { clearReservation } from '../../../wallet/reservation.ts'
import { GdnCommand, requiredFlagError, wrongAddressError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, notEmpty, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'

export interface AddFlags extends OutputFlags, Pick<ServerFlags, 'stateDir'> {
  from?: string
}

interface NamedAddress {
  name: string
  address: string
}

const MAX_LISTED_ISSUES = 1_000

const VIEW: View = { fields: ['name', 'address'], columns: ['name', 'address'], id: 'address', plural: 'addresses' }

export function command(deps: Deps, run = add): GdnCommand {
  return new GdnCommand({
    about:
      'Use this command for an address whose key is not on this machine, such as the address of a recipient or a hardware wallet. You can then use @name wherever a command accepts the address of a wallet. If the address already has this name, the command changes nothing. With --from, gdn saves the names from a CSV file with the columns name, address and groups. If a line is invalid, gdn saves no names. The optional groups column contains group names, separated by spaces, commas or semicolons. gdn adds each address to its groups, and removes no members. To name a keystore from another program, copy the file to the wallet folder, which gdn wallet list shows. For example, alice.json becomes @alice.',
    examples: [
      [
        'Save an address, to use it as --receiver @bob',
        'gdn wallet add bob 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      ],
      ['Save the contacts from a CSV file', 'gdn wallet add --from contacts.csv'],
    ],
  })
    .argument('[name]')
    .argument('[address]')
    .valueFlag('--from <file>', 'CSV file with the columns name, address and groups, or - for standard input', notEmpty)
    .with(addStateDirFlag, addOutputFlags)
    .action(async (name: string | undefined, address: string | undefined, flags: AddFlags) => {
      await run(deps, name, address, flags)
    })
}

export async function add(
  deps: Deps,
  typed: string | undefined,
  typedAddress: string | undefined,
  flags: AddFlags,
): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const { from } = flags
  if (from === undefined) {
    const contact = parseNamedAddress(typed, typedAddress)
    await save(deps, flags, (sql, folder) => enterName(sql, folder, contact, deps.now()), [contact.name])
    if (isOutputRequested(flags)) await output.one({ ...contact })
    return io.note(`@${contact.name} is ${contact.address}.`)
  }
  if (typed !== undefined) throw flagError('--from', "can't be used with <name>", 'Use one of them.')
  const { readContacts } = await import('../../../wallet/contacts.ts')
  const contactsFile = await readContacts(from === '-' ? { stdin: io.stdin } : { path: from })
  const { contacts, issues } = contactsFile
  if (contacts.length === 0) throw issuesError('invalid_input', issues.slice(0, MAX_LISTED_ISSUES), issues.length)
  const names = contacts.map(({ name }) => name)
  const { added, joined } = await save(
    deps,
    flags,
    (sql, folder) => saveContacts(sql, folder, contactsFile, deps.now()),
    names,
  )
  if (isOutputRequested(flags)) await output.many(contacts.map(({ name, address }) => ({ name, address })))
  const before = added === contacts.length ? '' : ` Already saved: ${contacts.length - added}.`
  io.note(`Saved ${count(added, 'contact')}.${before} Run \`gdn wallet list\` to list all names.`)
  await noteGroups(deps, joined)
}

/** Prints the members that were added to each group. Also prints members of these groups that share an address. */
async function noteGroups(
  { io, addresses }: Pick<Deps, 'io' | 'addresses'>,
  joined: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const groups = [...joined].slice(0, MAX_SHOWN_ITEMS)
  for (const [group, members] of groups) io.note(`Added to @${group}: ${formatMembers(members)}.`)
  if (joined.size > groups.length) io.note(`Added members to ${count(joined.size - groups.length, 'other group')}.`)
  if (joined.size === 0) return
  const book = await addresses()
  for (const [group] of groups) {
    const { note } = buildGroupList(book, group, {})
    if (note !== null) io.warn(`${note}.`)
  }
}

/** Maximum number of printed groups, and of printed members of one group. */
const MAX_SHOWN_ITEMS = 10

/** Formats the members of a group that a command has added or removed. */
export const formatMembers = (members: readonly string[]): string =>
  listSome(members.slice(0, MAX_SHOWN_ITEMS), members.length, ' and')

function parseNamedAddress(typed: string | undefined, address: string | undefined): NamedAddress {
  if (typed === undefined) throw requiredFlagError('<name>', 'Add a name and an address, or --from <file>.')
  const name = readName(typed, { flag: '<name>' })
  if (address === undefined) throw requiredFlagError('<address>', `Add the address of @${name}.`)
  const problem = anyAddressProblem(address)
  if (problem !== null) throw wrongAddressError(address, problem, '<address>')
  return { name, address: checksumAddress(address) }
}

/** Saves names in one transaction. @param names the names whose unfinished keystores are removed or completed first */
async function save<Result>(
  { env, signals: { signal } }: Pick<Deps, 'env' | 'signals'>,
  { stateDir }: AddFlags,
  enterNames: (sql: Sql, folder: string) => Result,
  names: readonly string[],
): Promise<Result> {
  const folder = walletsDirectory(env)
  checkWalletFolder(folder)
  for (const name of names) await clearReservation(folder, name)
  return await withState(
    stateDirectory(env, stateDir),
    (state) => state.write((sql) => enterNames(sql, folder), signal),
    { signal },
  )
}

/**
 * Saves an address under a name. Returns whether the contact is new.
 *
 * @throws GdnError `invalid_input` if the name is taken
 */
function enterName(sql: Sql, folder: string, { name, address }: NamedAddress, now: number): boolean {
  refuseTaken(folder, name, hasGroup(sql, name) ? 'a group' : null)
  const earlierAddress = addAddress(sql, { name, address, created_at: now })
  if (earlierAddress === null || earlierAddress === address) return earlierAddress === null
  throw nameTakenError(name, earlierAddress).with({
    hint: `To change the address, run \`gdn wallet rm @${name}\`, then run this command again.`,
  })
}

interface SavedContacts {
  /** The number of new contacts. */
  added: number
  /** The new members of each group, by group name. */
  joined: Map<string, string[]>
}

/**
 * Saves all contacts and their groups.
 *
 * @throws GdnError `invalid_input` if the file or its names have problems. The error lists all of them.
 */
function saveContacts(sql: Sql, folder: string, { contacts, issues }: Contacts, now: number): SavedContacts {
  const all = [...issues]
  let added = 0
  const joined = new Map<string, string[]>()
  const attempt = (place: (typeof all)[number]['place'], task: () => void) => {
    try {
      task()
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      all.push({ place, message: error.message, hint: error.hint })
    }
  }
  for (const contact of contacts) {
    attempt(contact.place('name'), () => {
      if (enterName(sql, folder, contact, now)) added++
    })
  }
  const checked = new Set<string>()
  for (const { name, groups, place } of contacts) {
    for (const group of groups) {
      if (!checked.has(group)) attempt(place('groups'), () => refuseTaken(folder, group, savedAddress(sql, group)))
      checked.add(group)
      const member = `@${name}`
      if (!addMember(sql, { group, member, created_at: now })) continue
      const members = joined.get(group) ?? []
      joined.set(group, members)
      members.push(member)
    }
  }
  if (all.length === 0) return { added, joined }
  const lineOf = ({ place: { line = Number.MAX_SAFE_INTEGER } }: (typeof all)[number]) => line
  all.sort((a, b) => lineOf(a) - lineOf(b) || (a.place.column ?? 0) - (b.place.column ?? 0))
  throw issuesError('invalid_input', all.slice(0, MAX_LISTED_ISSUES), all.length)
}
