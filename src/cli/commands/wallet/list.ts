import { walletsDirectory } from '../../../config/paths.ts'
import type { SavedGroup } from '../../../state/groups.ts'
import type { KnownWallet } from '../../../wallet/address-book.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { formatTextAsLocalTime } from '../../text/local-time.ts'

const VIEW: View = {
  fields: ['name', 'address', 'kind', 'created_at', 'file', 'members', 'error'],
  columns: ['name', 'address', 'kind', 'created_at', 'members', 'error'],
  id: 'address',
}

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about:
      'The list contains keystores, and the addresses and groups that you saved with gdn wallet add and gdn wallet group. A keystore is a wallet whose key is in an encrypted file on this machine. The command does not decrypt any keys.',
    examples: [
      ['List all wallets, addresses and groups', 'gdn wallet list'],
      ['Show the files of keystores', 'gdn wallet list --fields name,file'],
    ],
  })
    .with(addStateDirFlag, addOutputFlags)
    .action(async (flags: OutputFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: OutputFlags): Promise<void> {
  const { io } = deps
  const dayOf = (at: string) => (io.stdoutTty ? formatTextAsLocalTime(at) : at).slice(0, 10)
  const cells = (record: DataRecord) => ({
    ...record,
    name: `@${record.name}`,
    ...(Array.isArray(record.members) && { members: record.members.join(' ') }),
    created_at: dayOf(String(record.created_at)),
  })
  const output = createOutput(io, flags, { ...VIEW, cells })
  const book = await deps.addresses()
  const entries = [...book.list().map(asRecord), ...book.groups().map(groupRecord)]
  if (book.problem !== null)
    io.warn(`Saved addresses are not shown: ${book.problem.message}. ${book.problem.hint ?? ''}`)
  if (entries.length === 0 && output.mode === 'table')
    io.note('There are no wallets yet. Run `gdn wallet generate` to create one.')
  await output.many(entries)
  if (entries.some(({ kind }) => kind === 'keystore') && output.mode === 'table')
    io.note(`Keystores are in ${safe(walletsDirectory(deps.env))}`)
}

const asRecord = ({ name, address, kind, createdAt, file, problem }: KnownWallet): DataRecord => ({
  name,
  address,
  kind,
  created_at: createdAt,
  file,
  ...(problem === null ? {} : { error: problem }),
})

const groupRecord = ({ name, members, created_at }: SavedGroup): DataRecord => ({
  name,
  address: null,
  kind: 'group',
  created_at: new Date(created_at).toISOString(),
  file: null,
  members,
})
