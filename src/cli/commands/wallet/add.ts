import { anyAddressProblem, checksumAddress } from '../../../api/address.ts'
import { stateDirectory, walletsDirectory } from '../../../config/paths.ts'
import { count } from '../../../core/count.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { enterAddress } from '../../../state/addresses.ts'
import { openState } from '../../../state/open-state.ts'
import { checkWalletFolder } from '../../../wallet/folder.ts'
import { readName } from '../../../wallet/names.ts'
import { nameTaken, refuseKeystore } from '../../../wallet/new-names.ts'
import { clearReservation } from '../../../wallet/reservation.ts'
import { GdnCommand, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { requiredFlag, wrongAddress } from '../../flag-errors.ts'
import { addOutputFlags, addStateDirFlag, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { notEmpty } from '../../flags/parse.ts'
import { createOutput, isAskedFor } from '../../render/output.ts'
import type { View } from '../../render/view.ts'

export interface AddFlags extends OutputFlags, Pick<ServerFlags, 'stateDir'> {
  from?: string
}

interface Named {
  name: string
  address: string
  /** The line of the list. */
  line?: number
}

const VIEW: View = { fields: ['name', 'address'], columns: ['name', 'address'], id: 'address', plural: 'addresses' }

export function command(deps: Deps, run = add): GdnCommand {
  const addCommand = new GdnCommand({
    about:
      'Use this command for an address whose key is not on this machine, such as the address of a recipient or a hardware wallet. You can then use @name wherever a command accepts the address of a wallet. Adding the same address again has no effect. With --from, gdn saves all names of a CSV file with the columns name and address, or none of them. To name a keystore from another program, copy the file to the wallet folder, which gdn wallet list shows. For example, alice.json becomes @alice.',
    examples: [
      [
        'Save an address, to use it as --receiver @bob',
        'gdn wallet add bob 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      ],
      ['Save the contacts of a spreadsheet', 'gdn wallet add --from contacts.csv'],
    ],
  })
  addCommand.argument('[name]').argument('[address]')
  valueFlag(addCommand, '--from <file>', 'CSV file with the columns name and address, or - for standard input', {
    parse: notEmpty,
  })
  addStateDirFlag(addCommand)
  addOutputFlags(addCommand)
  return addCommand.action(async (name: string | undefined, address: string | undefined, flags: AddFlags) => {
    await run(deps, name, address, flags)
  })
}

export async function add(
  deps: Deps,
  typed: string | undefined,
  given: string | undefined,
  flags: AddFlags,
): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const { from } = flags
  if (from === undefined) {
    const one = namedOf(typed, given)
    await save(deps, [one], flags)
    if (isAskedFor(flags)) await output.one({ name: one.name, address: one.address })
    return io.note(`@${one.name} is ${one.address}.`)
  }
  if (typed !== undefined) throw flagError('--from', 'contradicts <name>', 'Use one of them.')
  const { readContacts } = await import('../../../wallet/contacts.ts')
  const contacts = await readContacts(from === '-' ? { stdin: io.stdin } : { path: from })
  const added = await save(deps, contacts, flags)
  if (isAskedFor(flags)) await output.many(contacts.map(({ name, address }) => ({ name, address })))
  const before = added === contacts.length ? '' : ` ${contacts.length - added} were saved before.`
  io.note(`Saved ${count(added, 'contact')}.${before} Run \`gdn wallet list\` to list all names.`)
}

function namedOf(typed: string | undefined, given: string | undefined): Named {
  if (typed === undefined) throw requiredFlag('<name>', 'Add a name and an address, or --from <file>.')
  const name = readName(typed, { flag: '<name>' })
  if (given === undefined) throw requiredFlag('<address>', `Add the address of @${name}.`)
  const problem = anyAddressProblem(given)
  if (problem !== null) throw wrongAddress(given, problem, '<address>')
  return { name, address: checksumAddress(given) }
}

/** Saves all addresses, or none if one can't be saved. Returns the number of those that weren't saved before. */
async function save(deps: Deps, all: readonly Named[], { from, stateDir }: AddFlags): Promise<number> {
  const { env, signals, now } = deps
  const folder = walletsDirectory(env)
  checkWalletFolder(folder)
  for (const { name } of all) await clearReservation(folder, name)
  const state = await openState(stateDirectory(env, stateDir), { signal: signals.signal })
  try {
    return await state.write((sql) => {
      let added = 0
      for (const { name, address, line } of all) {
        try {
          refuseKeystore(folder, name)
          const taken = enterAddress(sql, { name, address, created_at: now() })
          if (taken !== null && taken !== address) throw nameTaken(name, taken)
          if (taken === null) added++
        } catch (error) {
          if (!(error instanceof GdnError) || line === undefined) throw error
          throw error.with({ place: { file: from === '-' ? 'stdin' : from, line } })
        }
      }
      return added
    }, signals.signal)
  } finally {
    state.close()
  }
}
