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
      'For addresses whose key is elsewhere: a person you send to, a hardware wallet. Then @name stands for it wherever an address may. A keystore file of another program gets its name by being put into the folder of wallets (gdn wallet list shows it): alice.json is @alice.',
    examples: [['Then --receiver @bob', 'gdn wallet add bob 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359']],
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
