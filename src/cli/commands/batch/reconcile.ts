import type { BatchOptions } from '../../../batch/types.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'
import { addRateFlag, type BatchMintFlags } from '../../batch/options/flags.ts'
import { resumeRun } from '../../batch/resume-run.ts'
import { addRunArgument, resolveRun } from '../../batch/runs/resolve-run.ts'
import { GdnCommand, type Parse } from '../../command.ts'
import { addVerifyFlags } from '../../connect/open-verifier.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, addTimeoutFlag } from '../../flags/common.ts'

type ResolvedRow = NonNullable<BatchOptions['settle']>[number]

export interface ReconcileFlags extends BatchMintFlags {
  row?: ResolvedRow[]
}

export function command(deps: Deps, run = reconcile): GdnCommand {
  return new GdnCommand({
    about:
      "The command mints nothing. If the server supports reference IDs, it first looks up the rows by their reference IDs. For the other rows, it waits until the server's list of the collection is up to date, then searches the list. A row is accepted if the command finds its NFT, and absent if the NFT is missing from two complete lists. Otherwise, the row is undecided, for example because several NFTs match. gdn batch results shows the reason. Set the outcome of an undecided row with --row. The command also checks whether accepted rows are deployed. In an unrevealed drop, it also records the rows that another machine has minted.",
    examples: [
      ['Search the collection again', 'gdn batch reconcile drop.csv'],
      ['Assign an NFT to a row', 'gdn batch reconcile drop.csv --row hour-03=01a1f79d-83c1-74f7-a4f7-669e6b93e805'],
      ['Record that a row was not minted', 'gdn batch reconcile drop.csv --row hour-04=absent'],
    ],
  })
    .with(addRunArgument)
    .valueFlag('--row <key=id>', 'Set the outcome of a row: the ID of its NFT, or absent; repeatable', {
      parse: parseResolvedRow,
      repeatable: true,
    })
    .with(
      addRateFlag,
      (own) => addTimeoutFlag(own, 'How long the command may take (5m)'),
      addVerifyFlags,
      addServerFlags,
      addOutputFlags,
    )
    .action(async (name: string | undefined, flags: ReconcileFlags) => await run(deps, name, flags))
}

export async function reconcile(deps: Deps, typed: string | undefined, flags: ReconcileFlags): Promise<void> {
  const name = await resolveRun(deps, typed, flags)
  await resumeRun(deps, name, flags, {
    reconcileOnly: true,
    settle: flags.row === undefined ? undefined : refuseRepeatedKeys(flags.row),
  })
}

/** Parses `key=id`. A key may contain `=`, but an ID can't. */
const parseResolvedRow: Parse<ResolvedRow> = (raw, flag) => {
  const at = raw.lastIndexOf('=')
  const [key, id] = [raw.slice(0, at), raw.slice(at + 1)]
  if (at > 0 && id !== '') return { key, nftGdnId: id === 'absent' ? null : id }
  throw new GdnError('usage', `must be key=id or key=absent, not ${quoted(raw)}`, {
    place: { flag },
    hint: 'Run `gdn batch results <run>` to list the keys of the rows.',
  })
}

function refuseRepeatedKeys(rows: readonly ResolvedRow[]): readonly ResolvedRow[] {
  const twice = rows.find(({ key }, i) => rows.findIndex((row) => row.key === key) !== i)
  if (twice === undefined) return rows
  throw flagError('--row', `the row ${quoted(twice.key)} is specified twice`, 'Specify each row only once.')
}
