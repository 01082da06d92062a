import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stateDirectory, walletsDirectory } from '../../../config/paths.ts'
import { GdnError } from '../../../core/errors.ts'
import { renameAddress, savedAddress } from '../../../state/addresses.ts'
import { hasGroup, renameMember } from '../../../state/groups.ts'
import { withState } from '../../../state/open-state.ts'
import { checkWalletFolder, KEYSTORE_EXTENSION } from '../../../wallet/folder.ts'
import { readName } from '../../../wallet/names.ts'
import { refuseTaken } from '../../../wallet/new-names.ts'
import { clearReservation } from '../../../wallet/reservation.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'

export type RenameFlags = OutputFlags & Pick<ServerFlags, 'stateDir'>

const VIEW: View = { fields: ['name', 'address'], columns: ['name', 'address'], id: 'name' }
const NAME_PLACE = { flag: '<name>' }
const NEW_NAME_PLACE = { flag: '<new-name>' }

export function command(deps: Deps, run = rename): GdnCommand {
  return new GdnCommand({
    about:
      'The command renames an address that was saved with gdn wallet add, and updates the groups that contain it. It does not rename groups or keystores. The name of a keystore is the name of its file.',
    examples: [['Rename @bob to @robert', 'gdn wallet rename @bob @robert']],
  })
    .argument('<name>')
    .argument('<new-name>')
    .with(addStateDirFlag, addOutputFlags)
    .action(async (from: string, to: string, flags: RenameFlags) => await run(deps, from, to, flags))
}

export async function rename(deps: Deps, typed: string, typedNew: string, flags: RenameFlags): Promise<void> {
  const { io, env, signals } = deps
  const output = createOutput(io, flags, VIEW)
  const [from, name] = [readName(typed, NAME_PLACE), readName(typedNew, NEW_NAME_PLACE)]
  const folder = walletsDirectory(env)
  const book = await deps.addresses()
  if (checkWalletFolder(folder) && existsSync(join(folder, from + KEYSTORE_EXTENSION))) {
    const hint = `Save the address under another name with \`gdn wallet add ${name} <address>\`.`
    throw new GdnError('usage', `@${from} is a keystore, which can't be renamed`, { place: NAME_PLACE, hint })
  }
  // This throws an error for a group or an unknown name.
  const address = book.resolve(from, NAME_PLACE)
  await clearReservation(folder, name)
  await withState(
    stateDirectory(env, flags.stateDir),
    (state) =>
      state.write((sql) => {
        refuseTaken(folder, name, hasGroup(sql, name) ? 'a group' : savedAddress(sql, name))
        if (savedAddress(sql, from) !== address) throw book.unknownNameError(from, NAME_PLACE)
        renameAddress(sql, from, name)
        renameMember(sql, `@${from}`, `@${name}`)
      }, signals.signal),
    { signal: signals.signal },
  )
  if (isOutputRequested(flags)) await output.one({ name, address })
  io.note(`Renamed @${from} to @${name}.`)
}
