import { existsSync } from 'node:fs'
import { rm as remove } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError } from '../../../core/errors.ts'
import { ADDRESS_ENDING, KEYSTORE_ENDING } from '../../../wallet/folder.ts'
import { readName } from '../../../wallet/names.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, isAskedFor } from '../../render/output.ts'
import type { View } from '../../render/view.ts'

const VIEW: View = { fields: ['name', 'address'], columns: ['name', 'address'], id: 'name' }

export function command(deps: Deps, run = rm): GdnCommand {
  const rmCommand = new GdnCommand({
    about: 'Deletes the name of an address that gdn wallet add saved. gdn never deletes keystores.',
    examples: [['Delete the name @bob', 'gdn wallet rm bob']],
  })
  rmCommand.argument('<wallet>')
  addOutputFlags(rmCommand)
  return rmCommand.action(async (name: string, flags: OutputFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function rm(deps: Deps, typed: string, flags: OutputFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  const place = { flag: '<wallet>' }
  const name = readName(typed, place)
  const book = await deps.addresses()
  const keystore = join(book.folder, name + KEYSTORE_ENDING)
  if (existsSync(keystore)) {
    throw new GdnError('usage', `@${name} is a wallet: gdn never deletes keys`, {
      place,
      hint: `When the wallet is empty, delete ${keystore} yourself.`,
    })
  }
  const file = join(book.folder, name + ADDRESS_ENDING)
  // Rejects an unknown name and suggests the nearest one. A damaged file may be deleted.
  if (!existsSync(file)) book.resolve(name, place)
  const address = book.list().find((known) => known.name === name)?.address ?? null
  await remove(file)
  if (isAskedFor(flags)) await output.one({ name, address })
  deps.io.note(`Deleted the name @${name}${address === null ? '' : ` of ${address}`}.`)
}
