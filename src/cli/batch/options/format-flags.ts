import type { Run } from '../../../batch/types.ts'
import { shellWord } from '../../../core/shell-word.ts'
import type { ServerFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import type { BatchMintFlags } from './flags.ts'

/** Returns the flags that select a run by its manifest, for use in another command. */
export const addRunSelection = <Flags extends BatchMintFlags>(
  { contractAddress: contract, blockchain, runName }: Pick<Run, 'contractAddress' | 'blockchain' | 'runName'>,
  flags: Flags,
): Flags => ({ ...flags, contract, blockchain, ...(runName === null ? {} : { run: runName }) })

/**
 * Formats the flags that select the rows, the collection and the server, for use in another command with the same
 * manifest.
 */
export function formatManifestFlags(flags: BatchMintFlags): string {
  const { contract, blockchain, receiver, sender } = flags
  const args = formatValueFlags({ contract, blockchain, receiver, sender })
  for (const { key, value } of flags.map ?? []) args.push(`--map ${shellWord(safe(`${key}=${value}`))}`)
  if (flags.unknownColumns !== undefined) args.push(`--unknown-columns ${flags.unknownColumns}`)
  return joinFlags(args) + formatServerFlags(flags)
}

/** Formats all flags that affect the plan, for use in another command with the same manifest. */
export function formatPlanFlags(flags: BatchMintFlags & { takeOver?: boolean }): string {
  const { run, takeOver, newRows, adopt, allowExchanged } = flags
  const args = [
    ...formatValueFlags({ run }),
    ...(takeOver === true ? ['--take-over'] : []),
    ...(newRows === true ? ['--new-rows'] : []),
    ...(adopt === true ? ['--adopt'] : []),
    ...(allowExchanged === true ? ['--allow-exchanged'] : []),
  ]
  return formatManifestFlags(flags) + joinFlags(args)
}

/** Returns the command that plans and applies a manifest, in backticks. */
export const formatApplyCommand = (file: string | null, flags: BatchMintFlags): string =>
  `\`gdn apply ${shellWord(safe(file ?? '<manifest>'))}${formatPlanFlags(flags)}\``

/** Returns the command that compares a manifest with its NFTs, in backticks. */
export const formatPlanCommand = (file: string | null, flags: BatchMintFlags): string =>
  `\`${formatManifestCommand('plan', file, flags)}\``

/** Returns the command that reveals the NFTs of a manifest. */
export const formatRevealCommand = (file: string | null, flags: BatchMintFlags): string =>
  formatManifestCommand('reveal', file, { ...flags, newRows: false, allowExchanged: false })

/** Like `formatRevealCommand`, in backticks. */
export const quoteRevealCommand = (file: string | null, flags: BatchMintFlags): string =>
  `\`${formatRevealCommand(file, flags)}\``

const formatManifestCommand = (verb: 'plan' | 'reveal', file: string | null, flags: BatchMintFlags): string =>
  `gdn ${verb} ${shellWord(safe(file ?? '<manifest>'))}${formatPlanFlags(flags)}`

/** Formats the flags that select the server and the state directory, for use in another command. */
export function formatServerFlags({ baseUrl, profile, local, stateDir }: ServerFlags): string {
  const args = formatValueFlags({ 'base-url': baseUrl, profile, 'state-dir': stateDir })
  if (local) args.push('--local')
  return joinFlags(args)
}

export const formatUnrevealedFlags = ({
  unrevealed,
  shuffle,
  shuffleMargin,
}: Pick<BatchMintFlags, 'unrevealed' | 'shuffle' | 'shuffleMargin'>): string =>
  joinFlags([
    ...formatValueFlags({ unrevealed }),
    ...(shuffle === true ? ['--shuffle'] : []),
    ...(shuffleMargin === undefined ? [] : [`--shuffle-margin ${shuffleMargin / 1000}s`]),
  ])

/** Joins flags with a space before each, so that they can be appended to a command. */
const joinFlags = (flags: readonly string[]): string => flags.map((flag) => ` ${flag}`).join('')

const formatValueFlags = (values: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${shellWord(safe(value))}`],
  )
