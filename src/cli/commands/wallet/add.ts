import { join } from 'node:path'
import { checksumAddress } from '../../../api/address.ts'
import { GdnError, messageOf } from '../../../core/errors.ts'
import { writeNewFile } from '../../../core/new-file.ts'
import { anyAddressProblem } from '../../../wallet/address-book.ts'
import { ADDRESS_ENDING, makeWalletFolder } from '../../../wallet/folder.ts'
import { readName } from '../../../wallet/names.ts'
import { nameTaken, refuseTaken } from '../../../wallet/new-names.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, isAskedFor } from '../../render/output.ts'
import type { View } from '../../render/view.ts'

const VIEW: View = { fields: ['name', 'address', 'file'], columns: ['name', 'address'], id: 'address' }

export function command(deps: Deps, run = add): GdnCommand {
  const addCommand = new GdnCommand({
    about:
      'Names an address whose key is elsewhere, such as a recipient or a hardware wallet. You can use @name wherever a command takes an address. To name a keystore file of another program, put it in the wallet folder, which gdn wallet list shows: alice.json is @alice.',
    examples: [
      [
        'Name an address, to use it as --receiver @bob',
        'gdn wallet add bob 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      ],
    ],
  })
  addCommand.argument('<name>').argument('<address>')
  addOutputFlags(addCommand)
  return addCommand.action(async (name: string, address: string, flags: OutputFlags) => {
    await run(deps, name, address, flags)
  }) as GdnCommand
}

export async function add(deps: Deps, typed: string, address: string, flags: OutputFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const name = readName(typed, { flag: '<name>' })
  const problem = anyAddressProblem(address)
  if (problem !== null) throw new GdnError('usage', `"${address}" ${problem}`, { place: { flag: '<address>' } })
  const kept = checksumAddress(address)
  const { folder } = await deps.addresses()
  makeWalletFolder(folder)
  refuseTaken(folder, name)
  const file = join(folder, name + ADDRESS_ENDING)
  const isNew = await writeNewFile(file, `${kept}\n`).catch((error: unknown) => {
    throw new GdnError('invalid_input', `can't be written: ${messageOf(error)}`, { place: { file }, cause: error })
  })
  if (!isNew) throw nameTaken(name, file)
  if (isAskedFor(flags)) await output.one({ name, address: kept, file })
  io.note(`@${name} is ${kept}.`)
}
