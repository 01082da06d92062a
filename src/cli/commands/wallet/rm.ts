import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stateDirectory, walletsDirectory } from '../../../config/paths.ts'
import { GdnError } from '../../../core/errors.ts'
import type { Sql } from '../../../sqlite/shared-database.ts'
import { deleteAddress } from '../../../state/addresses.ts'
import { deleteGroup, savedGroups } from '../../../state/groups.ts'
import { statePath, withState } from '../../../state/open-state.ts'
import { KEYSTORE_EXTENSION } from '../../../wallet/folder.ts'
import { readName } from '../../../wallet/names.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput, isOutputRequested, type View } from '../../render/output.ts'

export type RmFlags = OutputFlags & Pick<ServerFlags, 'stateDir'>

const VIEW: View = { fields: ['name', 'address'], columns: ['name', 'address'], id: 'name' }

export function command(deps: Deps, run = rm): GdnCommand {
  return new GdnCommand({
    about:
      'The command deletes an address that was saved with gdn wallet add, or a group that was saved with gdn wallet group. gdn never deletes keystores.',
    examples: [
      ['Delete the address @bob', 'gdn wallet rm bob'],
      ['Delete the group @team', 'gdn wallet rm team'],
    ],
  })
    .argument('<wallet>')
    .with(addStateDirFlag, addOutputFlags)
    .action(async (name: string, flags: RmFlags) => await run(deps, name, flags))
}

export async function rm(deps: Deps, typed: string, flags: RmFlags): Promise<void> {
  const { io, env, signals } = deps
  const output = createOutput(io, flags, VIEW)
  const place = { flag: '<wallet>' }
  const name = readName(typed, place)
  const deleted = await deleteSavedName(stateDirectory(env, flags.stateDir), name, signals.signal)
  if (deleted === null) {
    const keystore = join(walletsDirectory(env), name + KEYSTORE_EXTENSION)
    if (existsSync(keystore)) {
      throw new GdnError('usage', `@${name} is a wallet: gdn never deletes keys`, {
        place,
        hint: `When the wallet is empty, delete ${keystore} yourself.`,
      })
    }
    // The error suggests the nearest name.
    throw (await deps.addresses()).unknownNameError(name, place)
  }
  const { address, groups } = deleted
  if (isOutputRequested(flags)) await output.one({ name, address })
  if (address === null)
    return io.note(`Deleted the group @${name}. The saved addresses of its members are not deleted.`)
  io.note(`Deleted the name @${name} of ${address}.`)
  if (groups.length > 0) io.warn(`@${name} is still a member of ${groups.map((group) => `@${group}`).join(', ')}.`)
}

interface DeletedName {
  /** The address; null for a group. */
  address: string | null
  /** The groups of which the name is a member. */
  groups: string[]
}

async function deleteSavedName(stateDir: string, name: string, signal: AbortSignal): Promise<DeletedName | null> {
  if (!existsSync(statePath(stateDir))) return null
  const remove = (sql: Sql): DeletedName | null => {
    const address = deleteAddress(sql, name)
    if (address === null) return deleteGroup(sql, name) ? { address, groups: [] } : null
    const groups = savedGroups(sql).filter(({ members }) => members.includes(`@${name}`))
    return { address, groups: groups.map((group) => group.name) }
  }
  return await withState(stateDir, (state) => state.write(remove, signal), { signal })
}
