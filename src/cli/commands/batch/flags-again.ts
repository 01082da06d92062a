import { shellWord } from '../../../core/shell-word.ts'
import { safe } from '../../io/io.ts'
import type { BatchMintFlags } from './flags.ts'

/** Formats the flags that select the rows, the collection and the server, for another command with the same manifest. */
export function flagsAgain(flags: BatchMintFlags): string {
  const { contract, blockchain, receiver, sender, baseUrl, profile } = flags
  const values = { contract, blockchain, receiver, sender, 'base-url': baseUrl, profile }
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${shellWord(safe(value))}`],
  )
  for (const { key, value } of flags.map ?? []) given.push(`--map ${shellWord(safe(`${key}=${value}`))}`)
  if (flags.unknownColumns !== undefined) given.push(`--unknown-columns ${flags.unknownColumns}`)
  if (flags.local) given.push('--local')
  return given.map((flag) => ` ${flag}`).join('')
}
