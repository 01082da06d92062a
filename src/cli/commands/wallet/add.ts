import { anyAddressProblem, checksumAddress } from '../../../api/address.ts'
import { stateDirectory, walletsDirectory } from '../../../config/paths.ts'
import { enterAddress } from '../../../state/addresses.ts'
import { openState } from '../../../state/open-state.ts'
import { checkWalletFolder } from '../../../wallet/folder.ts'
import { readName } from '../../../wallet/names.ts'
import { nameTaken, refuseKeystore } from '../../../wallet/new-names.ts'
import { clearReservation } from '../../../wallet/reservation.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { wrongAddress } from '../../flag-errors.ts'
import { addOutputFlags, addStateDirFlag, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput, isAskedFor } from '../../render/output.ts'
import type { View } from '../../render/view.ts'

export type AddFlags = OutputFlags & Pick<ServerFlags, 'stateDir'>

const VIEW: View = { fields: ['name', 'address'], columns: ['name', 'address'], id: 'address' }

export function command(deps: Deps, run = add): GdnCommand {
  const addCommand = new GdnCommand({
    about:
      'Use this command for an address whose key is not on this machine, such as the address of a recipient or a hardware wallet. You can then use @name wherever a command accepts the address of a wallet. Adding the same address again has no effect. To name a keystore from another program, copy the file to the wallet folder, which gdn wallet list shows. For example, alice.json becomes @alice.',
    examples: [
      [
        'Save an address, to use it as --receiver @bob',
        'gdn wallet add bob 0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      ],
    ],
  })
  addCommand.argument('<name>').argument('<address>')
  addStateDirFlag(addCommand)
  addOutputFlags(addCommand)
  return addCommand.action(async (name: string, address: string, flags: AddFlags) => {
    await run(deps, name, address, flags)
  })
}

export async function add(deps: Deps, typed: string, given: string, flags: AddFlags): Promise<void> {
  const { io, env } = deps
  const output = createOutput(io, flags, VIEW)
  const name = readName(typed, { flag: '<name>' })
  const problem = anyAddressProblem(given)
  if (problem !== null) throw wrongAddress(given, problem, '<address>')
  const address = checksumAddress(given)
  const folder = walletsDirectory(env)
  checkWalletFolder(folder)
  await clearReservation(folder, name)
  const { signal } = deps.signals
  const state = await openState(stateDirectory(env, flags.stateDir), { signal })
  try {
    const taken = await state.write((sql) => {
      refuseKeystore(folder, name)
      return enterAddress(sql, { name, address, created_at: deps.now() })
    }, signal)
    if (taken !== null && taken !== address) throw nameTaken(name, taken)
  } finally {
    state.close()
  }
  if (isAskedFor(flags)) await output.one({ name, address })
  io.note(`@${name} is ${address}.`)
}
