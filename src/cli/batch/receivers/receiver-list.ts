import { basename } from 'node:path'
import { flagError } from '../../../core/errors.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { safe } from '../../io/io.ts'
import type { BatchMintFlags } from '../options/flags.ts'

/** Returns whether a manifest is minted to a list of receivers. */
export const hasList = ({ to, toStdin }: Pick<BatchMintFlags, 'to' | 'toStdin'>): boolean =>
  to !== undefined || toStdin === true

/**
 * Checks the flags for a list of receivers.
 *
 * @throws GdnError `usage`
 */
export function checkListFlags(manifest: string, flags: BatchMintFlags): void {
  const { to, toStdin, merge, skipContracts, receiver, unrevealed, run } = flags
  if (!hasList(flags)) {
    const needsList = merge === true ? '--merge' : skipContracts === true ? '--skip-contracts' : null
    if (needsList !== null) throw flagError(needsList, 'requires a list of receivers', 'Add --to <file>.')
    return
  }
  const flag = to === undefined ? '--to-stdin' : '--to'
  if (to !== undefined && toStdin === true) throw flagError(flag, "can't be used with --to-stdin", 'Use one of them.')
  if (to === '-') throw flagError(flag, 'must be a file, not standard input', 'Use --to-stdin instead.')
  if (toStdin === true && run === undefined) {
    throw flagError('--run', 'is required with --to-stdin', 'Add --run <name>, so that the run can be resumed.')
  }
  if (manifest === '-')
    throw flagError(flag, 'requires a manifest file, not standard input', 'Write the row to a file.')
  if (receiver !== undefined) throw flagError('--receiver', `can't be used with ${flag}`, 'Use one of them.')
  if (unrevealed !== undefined) {
    throw flagError(
      '--unrevealed',
      `can't be used with ${flag}`,
      'Omit the flag. All receivers of a list receive the same NFT.',
    )
  }
}

/**
 * Returns the name of a list's run: `--run`, or a name made from both file names. For a group, the group's name
 * replaces the file name.
 */
export const listRunName = (manifest: string, { run, to = '' }: Pick<BatchMintFlags, 'run' | 'to'>): string =>
  run ?? `${basename(manifest)}+${basename(to)}`

/** Formats the list flags for use in another command. Returns an empty string if there is no list. */
export function formatListFlags({
  to,
  merge,
  skipContracts,
}: {
  to?: string | undefined
  merge?: boolean | undefined
  skipContracts?: boolean | undefined
}): string {
  if (to === undefined) return ''
  return [
    ` --to ${shellWord(safe(to))}`,
    ...(merge === true ? [' --merge'] : []),
    ...(skipContracts === true ? [' --skip-contracts'] : []),
  ].join('')
}
